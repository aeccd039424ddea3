import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { loadConfig } from '../../appliance/config.ts';
import type { ColdironError } from '../../appliance/domain/errors.ts';
import { targetText } from '../../appliance/export/settings.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'coldiron-export-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function load(receivers: string) {
  const file = join(folder, 'coldiron.yaml');
  await writeFile(file, `export:\n${receivers}`);
  return loadConfig(file);
}

async function problems(receiver: string): Promise<string[]> {
  const error = await load(`  - ${receiver}\n`).then(
    () => null,
    (reason: unknown) => reason as ColdironError,
  );
  return (error?.details ?? []).map((line) => line.replaceAll(`${folder}/`, '').replace('coldiron.yaml: ', ''));
}

describe('the receivers of the site file', () => {
  it('have defaults', async () => {
    const { receivers } = await load(`
  - {name: hooks, webhook: {url: 'https://h.example.net/x', secret_file: hook-secret}}
  - {name: logs, loki: {url: 'http://10.0.0.5:3100'}}
  - {name: siem, syslog: {address: siem.example.net, transport: tls}}
`);
    expect(receivers.map(({ name, target, backfill }) => ({ name, target, backfill }))).toEqual([
      {
        name: 'hooks',
        target: {
          kind: 'webhook',
          url: new URL('https://h.example.net/x'),
          secretFile: join(folder, 'hook-secret'),
          ca: null,
        },
        backfill: false,
      },
      {
        name: 'logs',
        target: {
          kind: 'loki',
          url: new URL('http://10.0.0.5:3100'),
          ca: null,
          tenant: null,
          login: null,
          streamLabels: ['site_id'],
        },
        backfill: false,
      },
      {
        name: 'siem',
        target: {
          kind: 'syslog',
          transport: 'tls',
          host: 'siem.example.net',
          port: 6514,
          facility: 'local0',
          ca: null,
        },
        backfill: false,
      },
    ]);
    expect(receivers.map(targetText)).toEqual([
      'https://h.example.net/x',
      'http://10.0.0.5:3100/',
      'tls://siem.example.net:6514',
    ]);
    expect(receivers[0]?.selection).toEqual({ kinds: [], severity: 'info', nodes: [] });
  });

  it('select events', async () => {
    const { receivers } = await load(
      "  - {name: siem, syslog: {address: '127.0.0.1:514'}, kinds: [lifecycle, trail.gap], severity: error, nodes: [node01]}\n",
    );
    expect(receivers[0]?.selection).toEqual({
      kinds: ['lifecycle', 'trail.gap'],
      severity: 'error',
      nodes: ['node01'],
    });
  });

  it.each([
    ['{name: a}', 'export[0]: needs exactly one of webhook, loki, syslog; it has none'],
    [
      "{name: a, loki: {url: 'http://l'}, syslog: {address: s}}",
      'export[0]: needs exactly one of webhook, loki, syslog; it has loki, syslog',
    ],
    [
      "{name: a, webhook: {url: 'ftp://h', secret_file: s}}",
      'export[0].webhook.url: must be a URL that begins with https:// or http://: ftp://h',
    ],
    [
      "{name: a, webhook: {url: 'https://me:hunter22@h/', secret_file: s}}",
      'export[0].webhook.url: must not contain a user name or password: the file that is named beside it has the secret',
    ],
    ["{name: a, webhook: {url: 'https://h/'}}", 'export[0].webhook.secret_file: is missing'],
    [
      "{name: a, loki: {url: 'http://logs.example.net', token_file: t}}",
      'export[0].loki.url: the password or token would be sent unencrypted: use https',
    ],
    ["{name: a, loki: {url: 'https://l', username: me}}", 'export[0].loki: username and password_file belong together'],
    [
      "{name: a, loki: {url: 'https://l', stream_labels: [host]}}",
      'export[0].loki.stream_labels[0]: must be one of site_id, onboarding_id, node_id, maas_system_id, hostname, correlation_id: host',
    ],
    [
      "{name: a, syslog: {address: 'h:99999'}}",
      'export[0].syslog.address: must be a host and a port, like logs.example.net:6514: h:99999',
    ],
    ['{name: a, syslog: {address: h, ca_file: c}}', 'export[0].syslog.ca_file: has a meaning only with transport: tls'],
    [
      '{name: a, syslog: {address: h, transport: tls, ca_file: coldiron.yaml}}',
      'export[0].syslog.ca_file: contains no PEM certificate: coldiron.yaml',
    ],
    [
      '{name: a, syslog: {address: h}, kinds: [lifecicle]}',
      'export[0].kinds: no event has the kind lifecicle: see docs/events.md',
    ],
    ['{name: A B, syslog: {address: h}}', 'export[0].name: must be a name: lower case, digits and "-": A B'],
    [
      '{name: a, syslog: {address: h}, severity: fatal}',
      'export[0].severity: must be one of info, warning, error: fatal',
    ],
  ])('are checked: %s', async (receiver, problem) => {
    const found = await problems(receiver);
    expect(found).toContainEqual(problem);
    expect(found.join()).not.toContain('hunter22');
  });

  it('have different names', async () => {
    const two = '{name: a, syslog: {address: h}}\n  - {name: a, syslog: {address: i}}';
    expect(await problems(two)).toEqual(['export[1].name: a is the name of two receivers']);
  });
});
