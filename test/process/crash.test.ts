// kill -9 at random moments while inventories are applied and lifecycle effects run: after each, the store opens and
// nothing in it is incomplete.

import { join } from 'node:path';
import { Agent, request } from 'undici';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from './appliance.ts';

const KILLS = 50;
const NODES = 150;

/** Every node carries the number of the apply that wrote it. */
const inventory = (generation: number): unknown => ({
  sites: [{ name: 'lab', bmc_mode: 'recorder' }],
  networks: [{ name: 'prov', prefix: '10.9.0.0/16', server: '10.9.0.1' }],
  skus: [{ name: 'gp1', architecture: 'x86_64' }],
  nodes: Array.from({ length: NODES }, (_, at) => ({
    name: `n${at}`,
    sku: 'gp1',
    labels: { generation: String(generation) },
    interfaces: [{ name: 'eth0', mac: `52:54:00:0a:00:${hex(at)}`, network: 'prov', address: `10.9.1.${at + 1}` }],
  })),
});
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

/** Small, seeded, and printed on failure: a run can be repeated. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Sends applies and lifecycle requests as fast as they are answered, until the process is gone. */
async function load(
  socketPath: string,
  generation: { value: number },
  onAnswer: () => void,
): Promise<{ answered: number }> {
  const dispatcher = new Agent({ connect: { socketPath } });
  const counted = { answered: 0 };
  const post = async (path: string, body: unknown): Promise<void> => {
    const answer = await request(new URL(path, 'http://coldiron'), {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    await answer.body.dump();
    if (answer.statusCode >= 300) return;
    counted.answered++;
    onAnswer();
  };
  const applies = async (): Promise<void> => {
    for (;;)
      await post('/api/v1/inventory/apply', { sources: [{ name: 'lab', document: inventory(++generation.value) }] });
  };
  const lives = async (from: number): Promise<void> => {
    for (let at = from; ; at = (at + 3) % NODES) {
      await post(`/api/v1/nodes/n${at}/retire`, {});
      await post(`/api/v1/nodes/n${at}/reactivate`, {});
    }
  };
  await Promise.allSettled([applies(), lives(0), lives(1), lives(2)]);
  await dispatcher.destroy();
  return counted;
}

async function findings(store: Store): Promise<string[]> {
  const found: string[] = [];
  const verdict = await store.verifyAudit();
  if (!verdict.intact) found.push(`audit entry ${verdict.seq}: ${verdict.reason}`);
  const { machines } = await store.inventory();
  if (machines.length !== 0 && machines.length !== NODES) found.push(`${machines.length} machines`);
  const generations = new Set(machines.map(({ spec }) => spec.labels.generation));
  if (generations.size > 1) found.push(`machines of several generations: ${[...generations].join(', ')}`);
  for (const { id, spec, lifecycle } of machines) {
    const [last] = await store.events({ machine: id, kind: 'lifecycle', limit: 1, newest: true });
    const reported = last?.kind.slice('lifecycle.'.length) ?? 'registered';
    if (reported !== 'unexpected' && reported !== lifecycle.state)
      found.push(`${spec.hostname} is ${lifecycle.state}, its last event says ${reported}`);
  }
  return found;
}

describe('an appliance that is killed', () => {
  let site: SiteFolder;
  let serving: ServingProcess | null = null;

  beforeEach(() => {
    site = new SiteFolder(`${LOOPBACK_SITE}log: { level: error }\n`);
  });
  afterEach(async () => {
    await serving?.end('SIGKILL');
    site.remove();
  });

  it(`${KILLS} times at random moments leaves a consistent store`, { timeout: 1_200_000 }, async () => {
    const seed = Date.now() >>> 0;
    const next = random(seed);
    const generation = { value: 0 };
    let answered = 0;
    for (let kill = 1; kill <= KILLS; kill++) {
      serving = await new ServingProcess(site.path).up();
      const answering = Promise.withResolvers<void>();
      const work = load(join(site.state, 'coldiron.sock'), generation, answering.resolve);
      await answering.promise; // however slow the machine is, there is something to interrupt
      await new Promise((resolve) => setTimeout(resolve, next() * 500)); // the random moment, not a wait for something
      await serving.end('SIGKILL');
      answered += (await work).answered;
      const store = await openSqliteStore({ file: join(site.state, 'coldiron.db') });
      expect(await findings(store), `kill ${kill}, seed ${seed}`).toEqual([]);
      await store.close();
    }
    expect(answered).toBeGreaterThanOrEqual(KILLS);

    serving = await new ServingProcess(site.path).up();
    const store = await openSqliteStore({ file: join(site.state, 'coldiron.db') });
    while ((await store.nextEffectDue()) !== null) await new Promise((resolve) => setImmediate(resolve));
    const { machines } = await store.inventory();
    for (const { id } of machines) {
      for (const effect of await store.effects(id)) expect(effect.state).toMatch(/^(done|running)$/);
    }
    await store.close();
  });
});
