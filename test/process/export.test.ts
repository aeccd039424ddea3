// A running appliance that exports its events, killed (-9) in the middle, with receivers that come and go: nothing is lost.

import { chmodSync } from 'node:fs';
import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { HttpReceiver } from '../export/http-receiver.ts';
import { freePort } from '../free-port.ts';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from './appliance.ts';

const KILLS = 4;
const SECRET = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;

const inventory = (generation: number): string => `
sites: [{name: lab, bmc_mode: recorder}]
networks: [{name: prov, prefix: 10.9.0.0/16, server: 10.9.0.1}]
skus: [{name: gp1, architecture: x86_64}]
nodes:
${Array.from(
  { length: 20 },
  (_, n) =>
    `  - {name: n${n}, sku: gp1, labels: {generation: '${generation}'}, ` +
    `interfaces: [{name: eth0, mac: '52:54:00:0b:00:${n.toString(16).padStart(2, '0')}', network: prov}]}`,
).join('\n')}
`;

interface StoredProblem {
  readonly kind: string;
  readonly data: { readonly problem?: string };
}

describe('an appliance that exports events', () => {
  let site: SiteFolder;
  let serving: ServingProcess | null = null;
  let hooks: HttpReceiver | null = null;
  let port: number;
  beforeEach(async () => {
    port = await freePort();
    site = new SiteFolder(`${LOOPBACK_SITE}
export:
  - name: hooks
    backfill: true
    webhook: {url: 'http://127.0.0.1:${port}/hook', secret_file: secret}
`);
    chmodSync(site.write('secret', SECRET), 0o600);
  });
  afterEach(async () => {
    await serving?.end('SIGKILL');
    await hooks?.close();
    site.remove();
  });

  const seqsOf = (receiver: HttpReceiver): number[] =>
    receiver.requests.map(({ body }) => (JSON.parse(body) as { data: { seq: number } }).data.seq);
  const read = async (path: string): Promise<unknown> => {
    const dispatcher = new Agent({ connect: { socketPath: join(site.state, 'coldiron.sock') } });
    try {
      return await (await request(new URL(path, 'http://coldiron'), { dispatcher })).body.json();
    } finally {
      await dispatcher.close();
    }
  };
  const state = async () => ((await read('/api/v1/exports')) as { exports: Record<string, unknown>[] }).exports[0];
  const apply = (generation: number): void => {
    const run = site.run('apply', site.write('nodes.yaml', inventory(generation)), '--state', site.state);
    expect(run.status, run.stderr).toBe(0);
  };

  it('loses none when it is killed in the middle, and repeats with the same ids', { timeout: 240_000 }, async () => {
    hooks = await HttpReceiver.open(port);
    const receiver = hooks;
    // Slow, so that each kill finds deliveries in progress.
    receiver.answer = (_, response) => void setTimeout(() => response.writeHead(204).end(), 5);
    for (let kill = 1; kill <= KILLS; kill += 1) {
      serving = await new ServingProcess(site.path).up();
      const before = receiver.requests.length;
      apply(kill);
      await expect.poll(() => receiver.requests.length, { timeout: 30_000 }).toBeGreaterThan(before + 3);
      await serving.end('SIGKILL');
    }
    serving = await new ServingProcess(site.path).up();
    await expect.poll(async () => (await state())?.lag_events, { timeout: 60_000, interval: 500 }).toBe(0);
    expect(await serving.end('SIGTERM')).toEqual({ code: 0, signal: null });
    const store = await openSqliteStore({ file: join(site.state, 'coldiron.db') });
    const expected = (await store.events({ limit: 10_000 })).map(({ seq }) => seq);
    await store.close();
    expect(expected.length).toBeGreaterThan(KILLS * 20);
    expect([...new Set(seqsOf(receiver))]).toEqual(expected);
    const ids = new Map<number, Set<unknown>>();
    for (const { headers, body } of receiver.requests) {
      const { seq } = (JSON.parse(body) as { data: { seq: number } }).data;
      ids.set(seq, (ids.get(seq) ?? new Set()).add(headers['webhook-id']));
    }
    expect([...ids.values()].filter(({ size }) => size !== 1)).toEqual([]);
  });

  it('says that a receiver is down, once, and delivers everything when it is back', { timeout: 120_000 }, async () => {
    serving = await new ServingProcess(site.path).up();
    apply(1);
    await expect.poll(async () => (await state())?.state, { timeout: 60_000, interval: 500 }).toBe('unreachable');
    const check = site.run('check', '--state', site.state);
    expect(check.stdout).toContain(`Events are not exported to hooks (http://127.0.0.1:${port}/hook)`);
    expect(check.status).toBe(5);
    const health = await fetch(new URL('/health', serving.where('management')));
    expect([health.status, await health.json()]).toMatchObject([503, { problems: ['receiver-unreachable'] }]);
    expect(site.run('exports', 'list', '--state', site.state).stdout).toMatch(
      /hooks +webhook +unreachable +\d+ \(\d+ s\)/,
    );

    hooks = await HttpReceiver.open(port);
    const receiver = hooks;
    await expect.poll(async () => (await state())?.state, { timeout: 60_000, interval: 500 }).toBe('delivering');
    await expect.poll(async () => (await state())?.lag_events, { timeout: 60_000, interval: 500 }).toBe(0);
    const about = async (): Promise<string[]> => {
      const { events } = (await read('/api/v1/events?kind=appliance')) as { events: StoredProblem[] };
      return events.filter(({ data }) => data.problem === 'receiver-unreachable').map(({ kind }) => kind);
    };
    // The appliance looks at itself every few seconds.
    await expect.poll(about, { timeout: 30_000, interval: 500 }).toEqual(['appliance.problem', 'appliance.recovered']);
    expect(receiver.requests.some(({ body }) => body.includes('receiver-unreachable'))).toBe(false);
    expect(receiver.requests.length).toBeGreaterThan(20);
    expect(await state()).toMatchObject({ lost: 0, dead_letters: 0, delivered: receiver.requests.length });
  });

  it('keeps what is refused as dead letters, and sends it again when asked', { timeout: 120_000 }, async () => {
    hooks = await HttpReceiver.open(port);
    const receiver = hooks;
    receiver.answer = ({ body }, response) =>
      response.writeHead(body.includes('"node.created"') ? 422 : 204).end('no field node');
    site.write('coldiron.yaml', `${site.read('coldiron.yaml')}    kinds: [node.created, sku.created]\n`);
    serving = await new ServingProcess(site.path).up();
    const one = inventory(1).split('\n').slice(0, 6).join('\n');
    expect(site.run('apply', site.write('nodes.yaml', one), '--state', site.state).status).toBe(0);
    await expect.poll(async () => (await state())?.dead_letters, { timeout: 60_000, interval: 1000 }).toBe(1);
    const listed = site.run('exports', 'dead-letters', 'hooks', '--state', site.state).stdout;
    expect(listed).toMatch(/5 attempts +it answered 422: no field node/);
    receiver.answer = (_, response) => response.writeHead(204).end();
    const replay = site.run('exports', 'replay', 'hooks', '--state', site.state);
    expect(replay.stdout).toBe('1 dead letters will be sent to hooks again.\n');
    await expect.poll(async () => (await state())?.dead_letters, { timeout: 60_000, interval: 500 }).toBe(0);
    expect(site.run('audit', 'list', '--state', site.state).stdout).toContain('export.replay');
    expect(site.run('exports', 'replay', 'other', '--state', site.state).stderr).toContain(
      'there is no receiver other',
    );
  });
});
