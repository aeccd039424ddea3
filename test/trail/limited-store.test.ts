import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { newEvent } from '../../appliance/domain/event.ts';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import type { Store } from '../../appliance/store/store.ts';
import { limitedStore } from '../../appliance/trail/limited-store.ts';
import { TrailRecorder } from '../../appliance/trail/trail-recorder.ts';
import { addMachine, NOW, newAudit, transitionOf } from '../store/samples.ts';
import { useScratchFolder } from '../store/scratch-folder.ts';
import { changeOf, writesTo } from '../store/writes.ts';

const place = useScratchFolder();
let unlimited: Store;
let store: Store;
let trail: TrailRecorder;
let machine: Machine;
let now = NOW;
beforeEach(async () => {
  now = NOW;
  unlimited = await openSqliteStore({ file: place('coldiron.db') });
  trail = new TrailRecorder(unlimited, () => now);
  store = limitedStore(unlimited, trail);
  machine = await addMachine(unlimited, 1);
});
afterEach(() => unlimited.close());

const eventBy = (actor: string, kind: 'session.refused' | 'session.step') =>
  newEvent({ at: now, actor, machine: machine.id, correlationId: null }, kind, sampleData(kind));
const kinds = async (): Promise<string[]> => (await unlimited.events({ limit: 1000 })).map(({ kind }) => kind);
const count = (all: readonly string[], kind: string): number => all.filter((one) => one === kind).length;

describe('the limits of what machines can write', () => {
  it('drop and count the events and audit entries of changes that only record', async () => {
    const refused = () =>
      changeOf(machine.id, {
        events: [eventBy('machine:node1', 'session.refused')],
        audit: [newAudit('session.refused')],
      });
    for (let n = 0; n < 100; n += 1) expect(await store.commit(refused())).toMatchObject({ outcome: 'committed' });
    now += MINUTE;
    await trail.flush();
    const all = await kinds();
    expect([count(all, 'session.refused'), count(all, 'trail.flood')]).toEqual([5, 1]);
    const audit = (await unlimited.auditEntries(0, 1000)).filter(({ action }) => action === 'session.refused');
    expect(audit).toHaveLength(6);
    expect(audit.at(-1)?.after).toMatchObject({ count: 95, seconds: 60 });
    expect(await unlimited.verifyAudit()).toMatchObject({ intact: true });
  });

  it('keep the writes of a change whose event they drop', async () => {
    for (let n = 0; n < 150; n += 1) {
      const facts = { at: now + n, facts: { disks: [], nics: [], n } } as never;
      const events = [eventBy('machine:node1', 'session.step')];
      await store.commit(changeOf(machine.id, { writes: [{ kind: 'put-facts', facts }], events }));
    }
    expect(count(await kinds(), 'session.step')).toBe(120);
    expect((await unlimited.factsOf(machine.id))[0]?.facts).toMatchObject({ n: 149 });
  });

  it('do not apply to people, nor to changes of the state', async () => {
    const before = count(await kinds(), 'session.refused');
    for (let n = 0; n < 20; n += 1) await store.appendEvents([eventBy('token:ada', 'session.refused')]);
    expect(count(await kinds(), 'session.refused')).toBe(before + 20);
    const moved = await writesTo(store).transition({
      ...transitionOf(machine, 'commissioning'),
      events: Array.from({ length: 20 }, () => eventBy('machine:node1', 'session.refused')),
    });
    expect(moved.lifecycle.state).toBe('commissioning');
    expect(count(await kinds(), 'session.refused')).toBe(before + 40);
  });

  it('report an unknown machine like the store itself', async () => {
    const nobody = { ...machine, id: '00000000-0000-4000-8000-00000000dead' } as Machine;
    const refused = () =>
      store.commit(
        changeOf(nobody.id, { events: [{ ...eventBy('machine:x', 'session.refused'), machine: nobody.id }] }),
      );
    for (let n = 0; n < 10; n += 1) await expect(refused()).rejects.toMatchObject({ code: 'not_found' });
  });
});
