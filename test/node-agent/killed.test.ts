// Kills the agent at each call that has an effect: the next start continues as the same node,
// and repeats nothing that must run only once.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY } from '../../appliance/domain/instant.ts';
import { needPackages } from '../interop/packages.ts';
import { NodeApiSite } from '../servers/node-api/node-api-site.ts';
import { type FaultyNode, installed } from './faults-rig.ts';

const ADA = { actor: 'local:ada', correlationId: null };
/** Keys, certificates, tokens and results are stored with these; curl sends the requests. */
const COUNTED = ['curl', 'mv'];
const NEVER = { counted: COUNTED, killAt: 0, when: 'before' } as const;
const EVERY_END = ['before', 'after'] as const;

let site: NodeApiSite;
const nodes: FaultyNode[] = [];
let count = 0;

beforeAll(async () => {
  await needPackages(['curl', 'openssl', 'dash']);
  site = await NodeApiSite.open({ settings: { heartbeatEvery: 1000 } });
});
afterAll(async () => {
  for (const node of nodes) await node.agent.end('SIGKILL');
  await site.end();
});

const newNode = async () => {
  const machine = await site.machine(++count);
  const node = await installed(site, machine, `node${count}`);
  nodes.push(node);
  return { machine, node };
};
/** Certificates that could still be used. */
const usable = async (machine: { id: string }) => {
  const held = await site.store.certificatesOf(machine.id as never);
  return held.filter(({ kind, revokedAt, replacedBy }) => kind === 'node' && revokedAt === null && replacedBy === null);
};

describe('killed while it enrolls', () => {
  let steps = 0;
  beforeAll(async () => {
    const { node } = await newNode();
    node.start(NEVER);
    await node.agent.says('enrolled');
    steps = node.calls.findIndex((call) => call.includes('heartbeat')) + 1 || node.calls.length;
    await node.agent.end('SIGKILL');
  });

  it.each(EVERY_END)(
    '%s any step, it is a node after the next start, with one identity',
    async (when) => {
      expect(steps).toBeGreaterThan(8);
      for (let killAt = 1; killAt <= steps; killAt++) {
        const { machine, node } = await newNode();
        node.start({ counted: COUNTED, killAt, when });
        await node.killed();
        const before = node.agent.log.length;
        node.start(NEVER);
        await expect
          .poll(async () => (await site.current(machine)).health, { message: `${when} ${killAt}` })
          .toBe('online');
        expect(await usable(machine), `${when} ${killAt}: ${node.agent.log.slice(before)}`).toHaveLength(1);
        expect(await site.state(machine)).toBe('active');
        await node.agent.end('SIGKILL');
      }
    },
    400_000,
  );
});

describe('killed while it renews', () => {
  it.each(EVERY_END)(
    '%s any step, it continues as the same node',
    async (when) => {
      const { machine, node } = await newNode();
      node.start(NEVER);
      await node.agent.says('enrolled');
      await expect.poll(async () => (await site.current(machine)).health).toBe('online');
      await node.agent.end('SIGKILL');
      const due = join(node.agent.root, 'var/node-agent/renew-after');

      writeFileSync(due, '0\n');
      node.start(NEVER);
      await node.agent.says('renewed:');
      const toHeartbeat = () => node.calls.findIndex((call) => call.includes('/heartbeat'));
      await expect.poll(toHeartbeat).toBeGreaterThan(5);
      const steps = toHeartbeat();
      await node.agent.end('SIGKILL');

      for (let killAt = 1; killAt <= steps; killAt++) {
        writeFileSync(due, '0\n');
        node.start({ counted: COUNTED, killAt, when });
        await node.killed();
        const before = node.agent.log.length;
        const heardAt = site.enrollment.heartbeats.lastOf(machine.id)?.at ?? 0;
        node.start(NEVER);
        await expect
          .poll(() => site.enrollment.heartbeats.lastOf(machine.id)?.at ?? 0, { message: `${when} ${killAt}` })
          .toBeGreaterThan(heardAt);
        expect(node.agent.log.slice(before), `${when} ${killAt}`).not.toMatch(/recover|refused/);
        await node.agent.end('SIGKILL');
      }
      expect(await site.state(machine)).toBe('active');
    },
    400_000,
  );
});

describe('killed around a task', () => {
  it.each(EVERY_END)(
    '%s any step, it runs a task at most once, and the task gets a result',
    async (when) => {
      const { machine, node } = await newNode();
      const done = join(node.agent.root, 'restarts');
      const reboot = join(node.agent.root, 'bin/systemctl');
      const restarts = () => readFileSync(done, 'utf8').split('\n').filter(Boolean).length;
      node.start(NEVER);
      await node.agent.says('enrolled');
      writeFileSync(done, '');
      // It is also asked for failed units.
      writeFileSync(reboot, `#!/bin/sh\n[ "$1" = reboot ] || exit 1\necho "$@" >>'${done}'\n`, { mode: 0o755 });
      await node.agent.end('SIGKILL');
      const order = { kind: 'reboot', parameters: { delay_seconds: '0' } } as const;
      const newTask = async () => site.enrollment.tasks.run(await site.current(machine), order, ADA);

      const first = await newTask();
      node.start(NEVER);
      await expect.poll(restarts).toBe(1);
      const steps = node.calls.length;
      await node.agent.end('SIGKILL');
      expect(await site.store.task(first.id)).toMatchObject({ state: 'succeeded' });
      expect(steps).toBeGreaterThan(5);

      for (let killAt = 1; killAt <= steps; killAt++) {
        writeFileSync(done, '');
        const task = await newTask();
        node.start({ counted: COUNTED, killAt, when });
        await node.killed();
        // If it was delivered and not begun, or begun without a result: the longest deadline for that.
        site.ahead += 10 * 60_000;
        await site.enrollment.tasks.sweep();
        node.start(NEVER);
        const state = async () => (await site.store.task(task.id))?.state;
        await expect.poll(state, { message: `${when} ${killAt}` }).toMatch(/succeeded|failed|unknown/);
        const end = await state();
        if (end === 'succeeded') await expect.poll(restarts).toBeLessThanOrEqual(1);
        else expect(restarts(), `${when} ${killAt}: ${end}`).toBe(0);
        await node.agent.end('SIGKILL');
      }
      expect(site.ahead).toBeLessThan(DAY);
    },
    400_000,
  );
});
