import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { knownEvent } from '../../appliance/domain/events/known-event.ts';
import { SECOND } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { RunTimes } from '../../appliance/trail/run-times.ts';
import { addMachine, transitionOf } from '../store/samples.ts';
import { useScratchFolder } from '../store/scratch-folder.ts';
import { writesTo } from '../store/writes.ts';
import { eventsOf, type Observed, T0 } from './observed.ts';

const place = useScratchFolder();
let store: Store;
let times: RunTimes;
let stop: () => Promise<void>;
const errors: string[] = [];
beforeEach(async () => {
  store = await openSqliteStore({ file: place('coldiron.db') });
  times = newTimes();
  stop = times.start();
});
afterEach(async () => {
  await stop();
  await store.close();
  expect(errors.splice(0)).toEqual([]);
});

const newTimes = () =>
  new RunTimes({ store, now: () => T0, log: { error: (_, message) => void errors.push(message) } });

/** Runs a commissioning of this machine, which gets its address after so many seconds. */
async function commission(machine: Machine, seconds: number, ending: 'commissioned' | 'cancel' = 'commissioned') {
  const observed: readonly Observed[] = [
    [0, 'lifecycle.commissioning', { event: 'commission' }],
    [10, 'dhcp.discover', { program: 'firmware-pxe' }],
    [10 + seconds, 'dhcp.ack'],
  ];
  const of = (events: readonly Observed[]) =>
    eventsOf(events).flatMap((event) => knownEvent({ ...event, machine: machine.id }) ?? []);
  await store.appendEvents(of(observed));
  const current = (await store.machine(machine.id)) ?? machine;
  const done = of([[100, 'lifecycle.ready', { event: ending, before: { state: 'commissioning' } }]]);
  await writesTo(store).transition(transitionOf(current, 'ready', { events: done }));
}

describe('run times', () => {
  it('record each completed run as an event, with the time of each stage', async () => {
    const machine = await addMachine(store, 1);
    await commission(machine, 4);
    await expect.poll(() => store.events({ kind: 'run.timed', limit: 10 })).toHaveLength(1);
    expect((await store.events({ kind: 'run.timed', limit: 10 }))[0]).toMatchObject({
      machine: machine.id,
      data: {
        work: 'commissioning',
        ms: 100 * SECOND,
        stages: [
          { stage: 'power', ms: 10 * SECOND },
          { stage: 'address', ms: 4 * SECOND },
          { stage: 'loader', ms: 86 * SECOND },
        ],
      },
    });
  });

  it('ignore a run that was cancelled', async () => {
    await commission(await addMachine(store, 1), 4, 'cancel');
    await stop();
    expect(await store.events({ kind: 'run.timed', limit: 10 })).toEqual([]);
  });

  it('prefer runs of the same SKU once there are three, and survive a restart', async () => {
    const frame = { at: T0, actor: 'appliance', machine: null, correlationId: null };
    const run = (sku: string, seconds: number) => ({
      ...frame,
      kind: 'run.timed' as const,
      data: { work: 'commissioning', sku, ms: 1, stages: [{ stage: 'address', ms: seconds * SECOND }] },
    });
    await store.appendEvents([run('gp1', 2), run('gp1', 2), run('big', 60)]);
    expect((await newTimes().expected('gp1')).address).toMatchObject({ samples: 3, p90: 60 * SECOND });
    await store.appendEvents([run('gp1', 2)]);
    expect((await newTimes().expected('gp1')).address).toEqual({ median: 2 * SECOND, p90: 2 * SECOND, samples: 3 });
    expect((await newTimes().expected('big')).address).toMatchObject({ samples: 4 });
  });
});
