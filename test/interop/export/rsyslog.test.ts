// Exported events as rsyslog receives them: over UDP, TCP and TLS, and when it is killed in between.

import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Delivery } from '../../../appliance/export/outcome.ts';
import type { SyslogSettings } from '../../../appliance/export/settings.ts';
import { syslogDelivery } from '../../../appliance/export/syslog-delivery.ts';
import { message, NODE01 } from '../../export/sample-messages.ts';
import { freePort } from '../../free-port.ts';
import { needPackages } from '../packages.ts';

type Transport = SyslogSettings['transport'];
const HOSTILE = 'a"b]c\\d\u001b[2J\nsecond line ü';
const NEVER = new AbortController().signal;

let folder = '';
const running: ChildProcess[] = [];
beforeAll(() => {
  needPackages(['rsyslog', 'rsyslog-openssl', 'openssl']);
  folder = mkdtempSync(join(tmpdir(), 'coldiron-rsyslog-'));
  const made = spawnSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'],
      ...['-subj', '/CN=logs.example.net', '-addext', 'subjectAltName=IP:127.0.0.1'],
      ...['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')],
    ],
    { encoding: 'utf8' },
  );
  expect(made.status, made.stderr).toBe(0);
}, 300_000);
afterEach(async () => {
  for (const child of running.splice(0)) await end(child);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  child.kill('SIGKILL');
  await exited;
}

const inputOf = (transport: Transport, port: number): string => {
  if (transport === 'udp') {
    return `module(load="imudp")\ninput(type="imudp" port="${port}" address="127.0.0.1")`;
  }
  const tls = 'StreamDriver.Name="ossl" StreamDriver.Mode="1" StreamDriver.AuthMode="anon"';
  return `module(load="imtcp" ${transport === 'tls' ? tls : ''})\ninput(type="imtcp" port="${port}" address="127.0.0.1")`;
};

/** Each received message is one JSON line of `file`. */
async function rsyslog(transport: Transport, port: number, file: string): Promise<ChildProcess> {
  const configuration = `
global(workDirectory="${folder}" maxMessageSize="16k"
  DefaultNetstreamDriverCAFile="${folder}/cert.pem" DefaultNetstreamDriverCertFile="${folder}/cert.pem"
  DefaultNetstreamDriverKeyFile="${folder}/key.pem")
${inputOf(transport, port)}
template(name="line" type="list" option.jsonf="on") {
  property(outname="pri" name="pri" format="jsonf")
  property(outname="time" name="timestamp" dateFormat="rfc3339" format="jsonf")
  property(outname="host" name="hostname" format="jsonf")
  property(outname="app" name="app-name" format="jsonf")
  property(outname="msgid" name="msgid" format="jsonf")
  property(outname="data" name="structured-data" format="jsonf")
  property(outname="text" name="msg" format="jsonf")
}
action(type="omfile" file="${file}" template="line" createMode="0600" asyncWriting="off" flushOnTXEnd="on")
`;
  const path = join(folder, `${transport}.conf`);
  writeFileSync(path, configuration);
  const child = spawn('rsyslogd', ['-n', '-f', path, '-i', join(folder, `${transport}.pid`)], { stdio: 'pipe' });
  running.push(child);
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  await expect.poll(() => child.exitCode !== null || listens(transport, port), { timeout: 20_000 }).toBe(true);
  expect(child.exitCode, said).toBeNull();
  return child;
}

async function listens(transport: Transport, port: number): Promise<boolean> {
  if (transport === 'udp') {
    const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    return readFileSync('/proc/net/udp', 'utf8').includes(local);
  }
  const socket = connect({ port, host: '127.0.0.1' });
  const reached = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return reached;
}

interface Received {
  readonly pri: string;
  readonly time: string;
  readonly host: string;
  readonly app: string;
  readonly msgid: string;
  readonly data: string;
  readonly text: string;
}

const receivedIn = (file: string): Received[] =>
  existsSync(file)
    ? readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Received]))
    : [];

const seqsIn = (file: string): number[] => receivedIn(file).map(({ data }) => Number(/ seq="(\d+)"/.exec(data)?.[1]));

function delivery(transport: Transport, port: number): Delivery {
  const ca = transport === 'tls' ? readFileSync(join(folder, 'cert.pem'), 'utf8') : null;
  return syslogDelivery({ kind: 'syslog', transport, host: '127.0.0.1', port, facility: 'local3', ca }, 'appliance-1');
}

describe.each(['udp', 'tcp', 'tls'] as const)('rsyslog over %s', (transport) => {
  const file = (): string => join(folder, `${transport}-${expect.getState().currentTestName?.length}.log`);

  it('reads every field, also of hostile text', { timeout: 60_000 }, async () => {
    const port = await freePort();
    await rsyslog(transport, port, file());
    const sent = [message(1, { actor: HOSTILE }), message(2), message(3, { kind: 'export.lost' })];
    expect(await delivery(transport, port).deliver(sent, NEVER)).toEqual({ accepted: 3, failure: null });
    await expect.poll(() => receivedIn(file()).length, { timeout: 10_000 }).toBe(3);
    const [hostile, plain] = receivedIn(file());
    expect(plain).toEqual({
      pri: '156',
      time: '2026-01-15T08:00:00.250Z',
      host: 'appliance-1',
      app: 'coldiron',
      msgid: 'trail.gap',
      data:
        `[coldiron@32473 id="evt_00c0ffee00c0ffee_2" seq="2" kind="trail.gap" site_id="lab" node_id="${NODE01}" ` +
        `hostname="node01" correlation_id="c-1" actor="appliance" data="{\\"lost\\":2}"]`,
      text: 'The trail dropped 2 events',
    });
    expect(hostile?.data).toContain(' actor="a\\"b\\]c\\\\d\\\\u001b[2J\\\\u000asecond line ü" ');
    expect(hostile?.text).toBe('The trail dropped 1 events');
  });

  it('gets hundreds of events in order', { timeout: 60_000 }, async () => {
    const port = await freePort();
    await rsyslog(transport, port, file());
    const to = delivery(transport, port);
    for (let from = 1; from <= 300; from += 100) {
      const batch = Array.from({ length: 100 }, (_, n) => message(from + n));
      expect(await to.deliver(batch, NEVER)).toEqual({ accepted: 100, failure: null });
      await expect.poll(() => seqsIn(file()).length, { timeout: 10_000 }).toBe(from + 99);
    }
    expect(seqsIn(file())).toEqual(Array.from({ length: 300 }, (_, n) => n + 1));
  });
});

describe.each(['tcp', 'tls'] as const)('a syslog server over %s', (transport) => {
  it('that is killed is noticed, and gets the events when it is back', { timeout: 60_000 }, async () => {
    const file = join(folder, `killed-${transport}.log`);
    const port = await freePort();
    const to = delivery(transport, port);
    const first = await rsyslog(transport, port, file);
    expect((await to.deliver([message(1)], NEVER)).accepted).toBe(1);
    // What it has read is in its memory until it is in its file.
    await expect.poll(() => seqsIn(file), { timeout: 10_000 }).toEqual([1]);
    await end(first);
    expect(await to.deliver([message(2)], NEVER)).toMatchObject({ accepted: 0, failure: { kind: 'unavailable' } });
    await rsyslog(transport, port, file);
    expect((await to.deliver([message(2)], NEVER)).accepted).toBe(1);
    await expect.poll(() => seqsIn(file), { timeout: 10_000 }).toEqual([1, 2]);
  });
});

describe('a TLS syslog server', () => {
  it('with a certificate of another authority gets nothing', { timeout: 60_000 }, async () => {
    const file = join(folder, 'untrusted.log');
    const port = await freePort();
    await rsyslog('tls', port, file);
    const settings = {
      kind: 'syslog',
      transport: 'tls',
      host: '127.0.0.1',
      port,
      facility: 'local0',
      ca: null,
    } as const;
    const { accepted, failure } = await syslogDelivery(settings, 'appliance-1').deliver([message(1)], NEVER);
    expect([accepted, failure?.kind]).toEqual([0, 'unavailable']);
    expect(failure?.reason).toMatch(/self-signed|certificate/);
    expect(receivedIn(file)).toEqual([]);
  });
});
