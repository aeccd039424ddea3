import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import { openKeyFolder } from '../../appliance/identity/key-folder.ts';
import { createTaskDesk, type TaskQueue } from '../../appliance/identity/task-queue.ts';
import { openTaskSigner } from '../../appliance/identity/task-signing.ts';
import { transitionOf } from '../store/samples.ts';
import { writesTo } from '../store/writes.ts';
import { ALICE, auditActions, useEnrollment } from './enrollment-rig.ts';

describe('the task desk', () => {
  const rig = useEnrollment();
  const timers: (() => void)[] = [];
  const signal = new AbortController().signal;
  const mayWork = async (): Promise<boolean> => true;

  const open = async (): Promise<{ desk: TaskQueue; machine: Machine }> => {
    const { store, dependencies, file, machine } = rig();
    const keys = await openKeyFolder(file('task-signing'), null);
    let id = 0;
    const desk = createTaskDesk({
      store,
      signer: await openTaskSigner({ ...dependencies, keys }),
      now: dependencies.now,
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
    return { desk, machine: await writesTo(store).transition(transitionOf(enrolling, 'active')) };
  };

  it('hands a task to a node that waits for one, at once', async () => {
    const { desk, machine } = await open();
    const waited = desk.next(machine.id, mayWork, MINUTE, signal);
    const task = await desk.run(machine, { kind: 'run-diagnostics', parameters: { level: 'full' } }, ALICE);
    expect(await waited).toMatchObject({ id: task.id, state: 'leased', parameters: { level: 'full' } });
    expect(JSON.parse(task.payload)).toMatchObject({ node_id: machine.id, kind: 'run-diagnostics', task_id: task.id });
  });

  it('ends a wait when time is over, when the node is gone, and when there is other news', async () => {
    const { desk, machine } = await open();
    const waited = desk.next(machine.id, mayWork, MINUTE, signal);
    timers.at(-1)?.();
    expect(await waited).toBeNull();
    const gone = new AbortController();
    const dropped = desk.next(machine.id, mayWork, MINUTE, gone.signal);
    gone.abort();
    expect(await dropped).toBeNull();
    const woken = desk.next(machine.id, mayWork, MINUTE, signal);
    desk.wakeAll();
    expect(await woken).toBeNull();
  });

  it('hands nothing to a node that may not work, also when it has waited since before', async () => {
    const { desk, machine } = await open();
    await desk.run(machine, { kind: 'ping', parameters: {} }, ALICE);
    const waited = desk.next(machine.id, async () => false, MINUTE, signal);
    desk.wakeAll();
    expect(await waited).toBeNull();
  });

  it.each(['retired', 'quarantined', 'enrolling', 'deploying'] as const)(
    'gives a node that is %s no tasks',
    async (state) => {
      const { desk, machine } = await open();
      const there = await writesTo(rig().store).transition(transitionOf(machine, state));
      await expect(desk.run(there, { kind: 'ping', parameters: {} }, ALICE)).rejects.toMatchObject({
        code: 'conflict',
      });
    },
  );

  it.each([
    [{ level: '$(reboot)' }, 'level: must match'],
    [{ depth: 'full' }, 'takes no parameter depth'],
  ])('refuses the parameters %j', async (parameters, message) => {
    const { desk, machine } = await open();
    await expect(desk.run(machine, { kind: 'run-diagnostics', parameters }, ALICE)).rejects.toMatchObject({
      code: 'invalid_request',
      message: expect.stringContaining(message),
    });
  });

  it('tells whoever asked as soon as the node has told, and audits another result', async () => {
    const { desk, machine } = await open();
    const { id } = await desk.run(machine, { kind: 'ping', parameters: {} }, ALICE);
    const leased = await desk.next(machine.id, mayWork, MINUTE, signal);
    expect(await desk.begin(machine, id, leased?.lease ?? '', 'c-2')).toBe(true);
    const outcome = desk.outcome(id, MINUTE, signal);
    expect(await desk.finish(machine, id, { succeeded: true, output: 'pong' }, 'c-3')).toBe('recorded');
    expect(await outcome).toMatchObject({ state: 'succeeded', result: { output: 'pong' } });
    expect(await desk.finish(machine, id, { succeeded: true, output: 'pong' }, 'c-4')).toBe('repeated');
    const differing = desk.finish(machine, id, { succeeded: false, output: 'no' }, 'c-5');
    await expect(differing).rejects.toMatchObject({ code: 'conflict' });
    expect(await auditActions(rig().store)).toContain('task.result_refused');
  });

  it('hands out again what a node took and never began', async () => {
    const { desk, machine } = await open();
    const { id } = await desk.run(machine, { kind: 'reboot', parameters: {} }, ALICE);
    const first = await desk.next(machine.id, mayWork, MINUTE, signal);
    rig().clock.at += MINUTE;
    await desk.sweep();
    const second = await desk.next(machine.id, mayWork, MINUTE, signal);
    expect(second).toMatchObject({ id, attempts: 2 });
    expect(await desk.begin(machine, id, first?.lease ?? '', 'c-2')).toBe(false);
    expect(await desk.begin(machine, id, second?.lease ?? '', 'c-2')).toBe(true);
  });

  it('takes no result that is larger than there is room for', async () => {
    const { desk, machine } = await open();
    const { id } = await desk.run(machine, { kind: 'ping', parameters: {} }, ALICE);
    const huge = desk.finish(machine, id, { succeeded: true, output: 'x'.repeat(65_537) }, 'c-2');
    await expect(huge).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});
