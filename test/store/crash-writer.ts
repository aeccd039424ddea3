// Run by crash.test.ts as a separate process: waits for a line, then writes until it is killed, and prints each generation that
// the store has acknowledged. Arguments: the file, the number of machines.

import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import type { LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { creationOf, inventoryWrites, NOW, newAudit, newEffect, newEvent, specOf, transitionOf } from './samples.ts';
import { writesTo } from './writes.ts';

const STATES: readonly LifecycleState[] = ['registered', 'commissioning', 'ready', 'deploying', 'active'];
const TRANSITIONS_PER_ROUND = 15;

const [file, count] = process.argv.slice(2);
if (file === undefined || count === undefined) throw new Error('usage: crash-writer.ts FILE MACHINES');

await once(process.stdin, 'data');
const store = await openSqliteStore({ file });
await store.reclaimEffects();
for (;;) {
  await writeGeneration(store, Number(count));
  const { machines } = await store.inventory();
  for (let n = 0; n < TRANSITIONS_PER_ROUND; n += 1) await moveOne(store, machines);
  for (const effect of await store.takeEffects(NOW, 5)) {
    await writesTo(store).finishEffect(effect.id, [newEvent('effect.done', { machine: effect.machine })]);
  }
}

/** Sets the same new generation on every machine, in one write. */
async function writeGeneration(into: Store, machineCount: number): Promise<void> {
  const { machines, declaredRevision } = await into.inventory();
  const generation = Number(machines[0]?.spec.labels.generation ?? 0) + 1;
  const labels = { generation: String(generation) };
  const createMachines =
    machines.length > 0 ? [] : Array.from({ length: machineCount }, (_, n) => creationOf(specOf(n, { labels })));
  const changeMachines = machines.map(({ id, version, spec }) => ({
    id,
    version,
    spec: { ...spec, labels },
    source: 'x',
  }));
  const events = [newEvent('generation', { data: generation })];
  const audit = [newAudit('generation', { after: generation })];
  await into.writeInventory(inventoryWrites(declaredRevision, { createMachines, changeMachines, events, audit }));
  process.stdout.write(`generation ${generation}\n`);
}

async function moveOne(into: Store, machines: readonly Machine[]): Promise<void> {
  const chosen = machines[randomInt(machines.length)];
  const machine = chosen && (await into.machine(chosen.id));
  const state = STATES[randomInt(STATES.length)];
  if (!machine || !state) throw new Error('there is always a machine and a state');
  const effects = Array.from({ length: randomInt(4) }, () => newEffect(machine.id));
  const data = { effects: effects.map(({ id }) => id) };
  const event = newEvent(`lifecycle.${state}`, { machine: machine.id, data });
  await writesTo(into).transition(
    transitionOf(machine, state, { effects, events: [event], audit: [newAudit('node.move')] }),
  );
}
