// The runner over the real store: it behaves like the store in memory.

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { deploy } from '../../appliance/machines/commands/work.ts';
import type { EffectHandlers } from '../../appliance/machines/effects/handler.ts';
import { effectHandlers } from '../../appliance/machines/effects.ts';
import { MachineCommands } from '../../appliance/machines/execute.ts';
import { type Clock, systemClock } from '../../appliance/machines/runner/clock.ts';
import { LifecycleRunner } from '../../appliance/machines/runner.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { bmcAccess } from './bmc-access.ts';
import { FakeClock } from './fake-clock.ts';
import { aLife, aMachine, T0 } from './machines.ts';
import { aGate, NODE01, OPS } from './runner-rig.ts';

const quiet = { info: () => {}, warn: () => {}, error: () => {} };

describe('the runner over SQLite', () => {
  let folder: string;
  let store: Store;
  const runners: LifecycleRunner[] = [];
  let commands: MachineCommands;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coldiron-runner-'));
    store = await openSqliteStore({ file: join(folder, 'state', 'coldiron.db') });
    const { spec } = aMachine({
      bmc: { address: mustParse(parseIpv4('10.0.10.50')), driver: 'ipmi', username: null, passwordFile: null },
    });
    await store.writeInventory({
      declaredRevision: (await store.inventory()).declaredRevision,
      putCatalogue: [],
      dropCatalogue: [],
      createMachines: [{ id: NODE01, spec, source: 'example', lifecycle: aLife('registered') }],
      changeMachines: [],
      removeMachines: [],
      events: [],
      audit: [],
    });
  });

  afterEach(async () => {
    await Promise.all(runners.splice(0).map((runner) => runner.stop()));
    await store.close();
    await rm(folder, { recursive: true });
  });

  function aRunner(clock: Clock, changes: Partial<EffectHandlers> = {}): LifecycleRunner {
    const real = effectHandlers({
      store,
      now: () => clock.now(),
      bmcs: bmcAccess('recorder'),
      mayReleaseUnerased: () => true,
    });
    commands = new MachineCommands({ store, now: () => clock.now(), newId: randomUUID, deployMinutes: () => 1 });
    const runner = new LifecycleRunner({ store, commands, effects: { ...real, ...changes }, clock, log: quiet });
    runners.push(runner);
    return runner;
  }

  const kinds = async () => (await store.events({ machine: NODE01, limit: 100 })).map((event) => event.kind);

  it('takes a machine from registered to removed, with everything on record and the audit chain intact', async () => {
    const runner = aRunner(systemClock);
    await runner.start();
    for (const event of ['commission', 'commissioned', 'retire', 'remove'] as const) {
      await commands.request(NODE01, event, OPS);
      await runner.idle();
    }
    expect(await kinds()).toEqual([
      'lifecycle.commissioning',
      'bmc.recorded',
      'bmc.recorded',
      'lifecycle.ready',
      'bmc.recorded',
      'lifecycle.retired',
      'lifecycle.removed',
    ]);
    expect((await store.effects(NODE01)).map((effect) => [effect.kind, effect.state])).toEqual([
      ['boot-from-network', 'done'],
      ['power-off', 'done'],
    ]);
    expect(await store.verifyAudit()).toMatchObject({ intact: true, entries: 4 });
  });

  it('disarms a deployment that ran into its deadline', async () => {
    const clock = new FakeClock(T0);
    const runner = aRunner(clock);
    await commands.request(NODE01, 'commission', OPS);
    await commands.request(NODE01, 'commissioned', OPS);
    const deployment = { profile: mustParse(parseObjectName('worker')), minutes: 1, problems: [], origin: OPS };
    await commands.mustExecute({ machine: NODE01, name: 'deploy', input: null, origin: OPS }, (machine, context) =>
      deploy(machine, deployment, context),
    );
    await runner.start();
    await clock.advance(MINUTE, () => runner.idle());
    const machine = await store.machine(NODE01);
    expect(machine?.lifecycle).toMatchObject({ state: 'failed', failure: { step: 'deploy' }, deadline: null });
    expect(machine?.intent?.revokedAt).toBe(clock.now());
    expect(await store.nextDeadline()).toBeNull();
    expect(await store.nextEffectDue()).toBeNull();
  });

  it('resumes an effect that was running when the process died', async () => {
    const begun = aGate();
    const killed = aRunner(new FakeClock(T0), {
      'boot-from-network': () => {
        begun.open();
        return new Promise(() => {});
      },
    });
    await killed.start();
    await commands.request(NODE01, 'commission', OPS);
    await begun.passed;
    runners.splice(0);

    const next = aRunner(new FakeClock(T0));
    await next.start();
    await next.idle();
    expect(await store.effects(NODE01)).toMatchObject([{ kind: 'boot-from-network', state: 'done', attempts: 2 }]);
  });

  it('serializes concurrent requests', async () => {
    aRunner(systemClock);
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => commands.request(NODE01, 'retire', OPS)));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect((await kinds()).sort()).toEqual([
      'lifecycle.retired',
      ...Array.from({ length: 4 }, () => 'lifecycle.unexpected'),
    ]);
  });
});
