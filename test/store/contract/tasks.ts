import { expect, it } from 'vitest';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { Task, TaskId, TaskKind } from '../../../appliance/domain/task.ts';
import { emptyChange } from '../../../appliance/machines/commands/decision.ts';
import type { Store } from '../../../appliance/store/store.ts';
import {
  MAX_OPEN_TASKS,
  MAX_TASK_ATTEMPTS,
  type NewTask,
  type TaskLease,
} from '../../../appliance/store/task-store.ts';
import { type Engine, useStore } from '../engines.ts';
import { addMachine, NOW, newAudit, newEvent, transitionOf } from '../samples.ts';
import { writesTo } from '../writes.ts';

const EVENT = newEvent('task.created');
const AUDIT = newAudit('task.created');

const newTask = (machine: Machine, n: number, kind: TaskKind = 'ping'): NewTask => ({
  id: `task-${n}` as TaskId,
  machine: machine.id,
  kind,
  parameters: { level: 'quick' },
  actor: 'token:alice',
  createdAt: NOW + n,
  expiresAt: NOW + 1000,
  payload: `{"task":${n}}`,
  signature: 'c2ln',
  signingKey: 'key-1',
});

const leaseOf = (machine: Machine, lease: string, changes: Partial<TaskLease> = {}): TaskLease => ({
  machine: machine.id,
  lease,
  now: NOW + 10,
  until: NOW + 40,
  ...changes,
});

const result = (machine: Machine, id: string, output = 'pong', succeeded = true) => ({
  id: id as TaskId,
  machine: machine.id,
  now: NOW + 50,
  result: { succeeded, output },
  event: newEvent('task.succeeded', { machine: machine.id }),
});

export function tasksContract(engine: Engine): void {
  const opened = useStore(engine);
  const started = async (kind: TaskKind): Promise<{ store: Store; machine: Machine; id: TaskId }> => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await store.createTask(newTask(machine, 1, kind), EVENT, AUDIT);
    await store.leaseTask(leaseOf(machine, 'a'));
    const id = 'task-1' as TaskId;
    expect(await store.startTask(id, leaseOf(machine, 'a', { until: NOW + 100 }), newEvent('task.begun'))).toBe(true);
    return { store, machine, id };
  };
  const swept = (store: Store, now: number): Promise<Task[]> =>
    store.sweepTasks(now, ({ state, machine }) => newEvent(`task.${state}`, { machine }));

  it('cancels a task that has not started, and no other', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    for (const n of [1, 2]) await store.createTask(newTask(machine, n), EVENT, AUDIT);
    const cancel = (n: number) => store.cancelTask(`task-${n}` as TaskId, NOW + 20, newEvent('task.cancelled'));
    expect(await cancel(2)).toBe(true);
    expect(await store.task('task-2' as TaskId)).toMatchObject({ state: 'expired', finishedAt: NOW + 20 });
    expect(await cancel(2)).toBe(false);
    const leased = await store.leaseTask(leaseOf(machine, 'a'));
    expect(leased?.id).toBe('task-1');
    expect(await store.startTask('task-1' as TaskId, leaseOf(machine, 'a'), EVENT)).toBe(true);
    expect(await cancel(1)).toBe(false);
    expect(await store.task('task-1' as TaskId)).toMatchObject({ state: 'running' });
    expect(await store.leaseTask(leaseOf(machine, 'b'))).toBeNull();
  });

  it('cancels waiting tasks of one kind in the commit of a change, with an event for each', async () => {
    const { store } = opened();
    const [machine, other] = [await addMachine(store, 1), await addMachine(store, 2)];
    /** Leased and then: not started, started, or requeued after the lease. */
    const create = async (n: number, of: Machine, kind: TaskKind, then?: 'leased' | 'running' | 'requeued') => {
      await store.createTask(newTask(of, n, kind), EVENT, AUDIT);
      if (then === undefined) return;
      await store.leaseTask(leaseOf(of, `lease-${n}`, then === 'requeued' ? { until: NOW + 11 } : {}));
      const id = `task-${n}` as TaskId;
      if (then === 'running') await store.startTask(id, leaseOf(of, `lease-${n}`, { until: NOW + 100 }), EVENT);
      if (then === 'requeued') await swept(store, NOW + 12);
    };
    const statesOf = async (): Promise<string[]> =>
      (await store.tasksOf(machine.id, 10)).map(({ id, state }) => `${id} ${state}`).toSorted();
    await create(1, machine, 'drain', 'running');
    await create(2, machine, 'drain', 'leased');
    await create(3, machine, 'drain', 'requeued');
    await create(4, machine, 'drain');
    await create(5, machine, 'undrain');
    await create(6, other, 'drain');
    const cancel = (which: 'waiting' | 'never-started') =>
      store.commit({
        ...emptyChange(machine, NOW + 20),
        version: null,
        writes: [
          {
            kind: 'cancel-tasks',
            cancellation: {
              task: 'drain',
              which,
              at: NOW + 20,
              origin: { actor: 'token:alice', correlationId: 'c-7' },
              reason: 'the node is now active',
            },
          },
        ],
      });
    const open = ['task-1 running', 'task-3 queued', 'task-5 queued'];
    const first = await cancel('never-started');
    expect(await statesOf()).toEqual([...open, 'task-2 expired', 'task-4 expired'].toSorted());
    expect(first).toMatchObject({
      outcome: 'committed',
      events: ['task-2', 'task-4'].map((task) => ({
        kind: 'task.cancelled',
        actor: 'token:alice',
        correlationId: 'c-7',
        machine: machine.id,
        data: { task, kind: 'drain', reason: 'the node is now active' },
      })),
    });
    expect(await store.startTask('task-2' as TaskId, leaseOf(machine, 'lease-2'), EVENT)).toBe(false);
    expect(await cancel('waiting')).toMatchObject({ events: [{ data: { task: 'task-3' } }] });
    expect(await cancel('waiting')).toMatchObject({ outcome: 'committed', events: [] });
    expect(await statesOf()).toEqual([
      'task-1 running',
      'task-2 expired',
      'task-3 expired',
      'task-4 expired',
      'task-5 queued',
    ]);
    expect(await store.task('task-6' as TaskId)).toMatchObject({ state: 'queued' });
  });

  it('stores a task unchanged, and leases it to exactly one of many callers', async () => {
    const { store, another } = opened();
    const machine = await addMachine(store, 1);
    await store.createTask(newTask(machine, 1), EVENT, AUDIT);
    expect(await store.task('task-1' as TaskId)).toMatchObject({
      ...newTask(machine, 1),
      state: 'queued',
      attempts: 0,
    });
    const other = await another();
    const leased = await Promise.all(
      Array.from({ length: 10 }, (_, n) => (n % 2 ? store : other).leaseTask(leaseOf(machine, `l${n}`))),
    );
    expect(leased.filter((task) => task !== null)).toMatchObject([{ id: 'task-1', state: 'leased', attempts: 1 }]);
  });

  it('leases the oldest first, to its own machine only, and no expired task', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const other = await addMachine(store, 2);
    for (const n of [2, 1]) await store.createTask(newTask(machine, n), EVENT, AUDIT);
    expect(await store.leaseTask(leaseOf(other, 'x'))).toBeNull();
    expect(await store.leaseTask(leaseOf(machine, 'x', { now: NOW + 1000 }))).toBeNull();
    expect(await store.leaseTask(leaseOf(machine, 'x'))).toMatchObject({ id: 'task-1' });
    expect((await store.tasksOf(machine.id, 10)).map(({ id }) => id)).toEqual(['task-2', 'task-1']);
  });

  it('starts a task for the holder of a valid lease, idempotently, and for no other', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    const other = await addMachine(store, 2);
    await store.createTask(newTask(machine, 1), EVENT, AUDIT);
    await store.leaseTask(leaseOf(machine, 'a'));
    const id = 'task-1' as TaskId;
    const start = (lease: TaskLease) => store.startTask(id, lease, newEvent('task.begun'));
    expect(await start(leaseOf(machine, 'b'))).toBe(false);
    expect(await start(leaseOf(other, 'a'))).toBe(false);
    expect(await start(leaseOf(machine, 'a', { now: NOW + 40 }))).toBe(false);
    expect(await start(leaseOf(machine, 'a'))).toBe(true);
    expect(await start(leaseOf(machine, 'a'))).toBe(true);
    expect(await store.task(id)).toMatchObject({ state: 'running' });
  });

  it('records a result once: the same result again is accepted, a different one changes nothing', async () => {
    const { store, machine, id } = await started('ping');
    const other = await addMachine(store, 2);
    expect(await store.finishTask(result(other, id))).toBe('absent');
    expect(await store.finishTask(result(machine, id))).toBe('recorded');
    expect(await store.finishTask(result(machine, id))).toBe('repeated');
    expect(await store.finishTask(result(machine, id, 'something else'))).toBe('differs');
    expect(await store.finishTask(result(machine, id, 'pong', false))).toBe('differs');
    expect(await store.task(id)).toMatchObject({ state: 'succeeded', result: { succeeded: true, output: 'pong' } });
  });

  it('refuses a result of a task that was not started', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await store.createTask(newTask(machine, 1), EVENT, AUDIT);
    expect(await store.finishTask(result(machine, 'task-1'))).toBe('refused');
    await store.leaseTask(leaseOf(machine, 'a'));
    expect(await store.finishTask(result(machine, 'task-1'))).toBe('refused');
  });

  it('requeues every task that was never started', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await store.createTask(newTask(machine, 1, 'reboot'), EVENT, AUDIT);
    await store.leaseTask(leaseOf(machine, 'a'));
    expect(await swept(store, NOW + 39)).toEqual([]);
    expect(await swept(store, NOW + 40)).toMatchObject([{ id: 'task-1', state: 'queued' }]);
    expect(await store.leaseTask(leaseOf(machine, 'b'))).toMatchObject({ lease: 'b', attempts: 2 });
    expect(await store.startTask('task-1' as TaskId, leaseOf(machine, 'a'), EVENT)).toBe(false);
  });

  it('requeues a started task only if it is repeatable', async () => {
    const { store, id } = await started('ping');
    expect(await swept(store, NOW + 100)).toMatchObject([{ id, state: 'queued', finishedAt: null }]);
  });

  it('sets other started tasks to unknown, and still accepts a late result', async () => {
    const { store, machine, id } = await started('reboot');
    expect(await swept(store, NOW + 100)).toMatchObject([{ id, state: 'unknown', finishedAt: NOW + 100 }]);
    expect(await store.leaseTask(leaseOf(machine, 'b'))).toBeNull();
    expect(await store.finishTask(result(machine, id))).toBe('recorded');
  });

  it('stops after the maximum number of attempts, and expires tasks that were not fetched', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await store.createTask(newTask(machine, 1), EVENT, AUDIT);
    for (let attempt = 1; attempt <= MAX_TASK_ATTEMPTS; attempt += 1) {
      await store.leaseTask(leaseOf(machine, `l${attempt}`));
      await swept(store, NOW + 40);
    }
    expect(await store.task('task-1' as TaskId)).toMatchObject({ state: 'expired' });
    await store.createTask(newTask(machine, 2), EVENT, AUDIT);
    expect(await swept(store, NOW + 1000)).toMatchObject([{ id: 'task-2', state: 'expired' }]);
    expect(await store.trimTasks(NOW + 1001)).toBe(2);
  });

  it('refuses tasks for removed machines, and more than the limit', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    for (let n = 0; n < MAX_OPEN_TASKS; n += 1) await store.createTask(newTask(machine, n), EVENT, AUDIT);
    await expect(store.createTask(newTask(machine, 900), EVENT, AUDIT)).rejects.toMatchObject({ code: 'conflict' });
    const gone = await addMachine(store, 2);
    await writesTo(store).transition(transitionOf(gone, 'removed'));
    await expect(store.createTask(newTask(gone, 901), EVENT, AUDIT)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('stores the last heartbeat of each node', async () => {
    const { store } = opened();
    const machine = await addMachine(store, 1);
    await store.putHeartbeats([{ machine: machine.id, at: NOW, report: null }]);
    await store.putHeartbeats([{ machine: machine.id, at: NOW + 5, report: { agent: '1' } }]);
    expect(await store.heartbeats()).toEqual([{ machine: machine.id, at: NOW + 5, report: { agent: '1' } }]);
    expect(await store.heartbeatOf(machine.id)).toMatchObject({ at: NOW + 5 });
  });
}
