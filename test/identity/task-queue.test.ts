import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { openKeyFolder } from '../../appliance/identity/key-folder.ts';
import { createTaskQueue, type TaskQueue } from '../../appliance/identity/task-queue.ts';
import { openTaskSigner } from '../../appliance/identity/task-signing.ts';
import { moved } from '../../appliance/machines/commands/move.ts';
import { transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { ALICE, auditActions, useEnrollment } from './enrollment-rig.ts';

describe('the task queue', () => {
  const rig = useEnrollment();
  const timers: (() => void)[] = [];
  const signal = new AbortController().signal;
  const mayWork = async (): Promise<boolean> => true;

  const open = async (): Promise<{ queue: TaskQueue; machine: Machine }> => {
    const { store, deps, file, machine } = rig();
    const keys = await openKeyFolder(file('task-signing'), null);
    let id = 0;
    const queue = createTaskQueue({
      store,
      signer: await openTaskSigner({ ...deps, keys }),
      now: deps.now,
      setTimer: (_, run) => {
        timers.push(run);
        return { cancel: () => undefined };
      },
      newId: () => {
        id += 1;
        return `00000000-0000-4000-8000-${String(id).padStart(12, '0')}`;
      },
    });
    const enrolling = await machine(1);
    return { queue, machine: await writesTo(store).transition(transitionOf(enrolling, 'active')) };
  };

  it('delivers a new task immediately to a waiting node', async () => {
    const { queue, machine } = await open();
    const waited = queue.next(machine.id, mayWork, MINUTE, signal);
    const task = await queue.run(machine, { kind: 'run-diagnostics', parameters: { level: 'full' } }, ALICE);
    expect(await waited).toMatchObject({ id: task.id, state: 'leased', parameters: { level: 'full' } });
    expect(JSON.parse(task.payload)).toMatchObject({ node_id: machine.id, kind: 'run-diagnostics', task_id: task.id });
  });

  it('ends a wait after the timeout, when the node disconnects, and on wakeAll', async () => {
    const { queue, machine } = await open();
    const waited = queue.next(machine.id, mayWork, MINUTE, signal);
    timers.at(-1)?.();
    expect(await waited).toBeNull();
    const gone = new AbortController();
    const dropped = queue.next(machine.id, mayWork, MINUTE, gone.signal);
    gone.abort();
    expect(await dropped).toBeNull();
    const woken = queue.next(machine.id, mayWork, MINUTE, signal);
    queue.wakeAll();
    expect(await woken).toBeNull();
  });

  it('ends a wait for a result when a change of the state cancels the task', async () => {
    const { queue, machine } = await open();
    const { store, clock } = rig();
    const task = await queue.run(machine, { kind: 'undrain', parameters: {} }, ALICE);
    const result = queue.outcome(task.id, MINUTE, signal);
    const drained = moved(
      machine,
      { event: 'drain', origin: ALICE },
      { now: clock.at, id: 'new', deployMinutes: null },
    );
    await store.commit(drained.outcome === 'change' ? drained.change : expect.fail('it was refused'));
    expect(await result).toMatchObject({ id: task.id, state: 'expired' });
  });

  it('delivers nothing to a node that may not run tasks, also when it was already waiting', async () => {
    const { queue, machine } = await open();
    await queue.run(machine, { kind: 'ping', parameters: {} }, ALICE);
    const waited = queue.next(machine.id, async () => false, MINUTE, signal);
    queue.wakeAll();
    expect(await waited).toBeNull();
  });

  it.each(['retired', 'quarantined', 'enrolling', 'deploying'] as const)(
    'refuses tasks for a node that is %s',
    async (state) => {
      const { queue, machine } = await open();
      const there = await writesTo(rig().store).transition(transitionOf(machine, state));
      await expect(queue.run(there, { kind: 'ping', parameters: {} }, ALICE)).rejects.toMatchObject({
        code: 'conflict',
      });
    },
  );

  it.each([
    [{ level: '$(reboot)' }, 'level: must match'],
    [{ depth: 'full' }, 'takes no parameter depth'],
  ])('refuses the parameters %j', async (parameters, message) => {
    const { queue, machine } = await open();
    await expect(queue.run(machine, { kind: 'run-diagnostics', parameters }, ALICE)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(message),
    });
  });

  it('resolves the outcome when the node reports a result, and audits a different result', async () => {
    const { queue, machine } = await open();
    const { id } = await queue.run(machine, { kind: 'ping', parameters: {} }, ALICE);
    const leased = await queue.next(machine.id, mayWork, MINUTE, signal);
    expect(await queue.begin(machine, id, leased?.lease ?? '', 'c-2')).toBe(true);
    const outcome = queue.outcome(id, MINUTE, signal);
    expect(await queue.finish(machine, id, { succeeded: true, output: 'pong' }, 'c-3')).toBe('recorded');
    expect(await outcome).toMatchObject({ state: 'succeeded', result: { output: 'pong' } });
    expect(await queue.finish(machine, id, { succeeded: true, output: 'pong' }, 'c-4')).toBe('repeated');
    const differing = queue.finish(machine, id, { succeeded: false, output: 'no' }, 'c-5');
    await expect(differing).rejects.toMatchObject({ code: 'conflict' });
    expect(await auditActions(rig().store)).toContain('task.result_refused');
  });

  it('requeues a task that a node leased and never started', async () => {
    const { queue, machine } = await open();
    const { id } = await queue.run(machine, { kind: 'reboot', parameters: {} }, ALICE);
    const first = await queue.next(machine.id, mayWork, MINUTE, signal);
    rig().clock.at += MINUTE;
    await queue.sweep();
    const second = await queue.next(machine.id, mayWork, MINUTE, signal);
    expect(second).toMatchObject({ id, attempts: 2 });
    expect(await queue.begin(machine, id, first?.lease ?? '', 'c-2')).toBe(false);
    expect(await queue.begin(machine, id, second?.lease ?? '', 'c-2')).toBe(true);
  });

  const unknown = async (kind: 'reboot' | 'ping' = 'reboot') => {
    const { queue, machine } = await open();
    const { id } = await queue.run(machine, { kind, parameters: {} }, ALICE);
    const leased = await queue.next(machine.id, mayWork, MINUTE, signal);
    expect(await queue.begin(machine, id, leased?.lease ?? '', 'c-2')).toBe(true);
    return { queue, machine, id };
  };

  it('runs a task with an unknown result again when an operator says so, once', async () => {
    const { queue, machine, id } = await unknown();
    const { store, clock } = rig();
    const task = (await store.task(id)) ?? expect.fail('no task');
    await expect(queue.resume(machine, task, 'too early', ALICE)).rejects.toMatchObject({ code: 'conflict' });
    clock.at += 10 * MINUTE;
    await queue.sweep();
    expect(await store.task(id)).toMatchObject({ state: 'unknown' });
    const again = await queue.resume(machine, task, 'it did not restart', ALICE);
    expect(again).toMatchObject({ kind: 'reboot', state: 'queued' });
    expect(again.id).not.toBe(id);
    expect(await store.task(id)).toMatchObject({
      state: 'failed',
      result: { output: expect.stringContaining(again.id) },
    });
    await expect(queue.resume(machine, task, 'twice', ALICE)).rejects.toMatchObject({ code: 'conflict' });
    expect((await queue.next(machine.id, mayWork, MINUTE, signal))?.id).toBe(again.id);
    expect(await auditActions(store)).toEqual(expect.arrayContaining(['task.resumed', 'task.created']));
    await expect(queue.finish(machine, id, { succeeded: true, output: 'late' }, 'c-3')).rejects.toMatchObject({
      code: 'conflict',
    });
  });

  it('gives a running task up: the node must not continue it', async () => {
    const { queue, machine, id } = await unknown();
    const task = (await rig().store.task(id)) ?? expect.fail('no task');
    expect(await queue.mayContinue(machine, id)).toBe(true);
    expect(await queue.abandon(machine, task, 'the node is gone', ALICE)).toMatchObject({ state: 'failed' });
    expect(await queue.mayContinue(machine, id)).toBe(false);
    await expect(queue.abandon(machine, task, 'again', ALICE)).rejects.toMatchObject({ code: 'conflict' });
    expect(await auditActions(rig().store)).toContain('task.abandoned');
  });

  it('refuses a result that is too large', async () => {
    const { queue, machine } = await open();
    const { id } = await queue.run(machine, { kind: 'ping', parameters: {} }, ALICE);
    const huge = queue.finish(machine, id, { succeeded: true, output: 'x'.repeat(65_537) }, 'c-2');
    await expect(huge).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});
