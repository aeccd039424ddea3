// A drain is a task of the node; its result advances the lifecycle. When the node is active again, the drain is undone: its
// task is cancelled before it starts, or an `undrain` task follows. Both are derived from the tasks in the store, so a killed
// process loses no step. The change of the state itself cancels the task of the opposite kind that waits (machines/commands/move.ts).

import type { Origin } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import { isOver, type Task } from '../domain/task.ts';
import type { MachineCommands } from '../machines/execute.ts';
import type { Store } from '../store/store.ts';
import { nodeReported } from './node-reports.ts';
import type { TaskQueue } from './task-queue.ts';

export interface DrainsDeps {
  readonly store: Pick<Store, 'tasksOf'>;
  readonly tasks: Pick<TaskQueue, 'run' | 'cancel'>;
  readonly machines: () => Iterable<Machine>;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly now: () => Instant;
}

export interface Drains {
  /** Creates missing drain and undrain tasks and applies the results of drains, for every node. */
  reconcile(): Promise<void>;
  /** Creates or evaluates the drain task of one node; does nothing for a node that is not being drained. */
  settle(machine: Machine): Promise<void>;
}

/** Far more tasks than a node gets during one drain. */
const TASKS_READ = 200;

const BY_APPLIANCE: Origin = { actor: 'appliance', correlationId: null };

export function createDrains({ store, tasks, machines, commands, now }: DrainsDeps): Drains {
  /** Active nodes without a drain to undo, by when they became active: each state visit costs one query. */
  let undone = new Map<MachineId, Instant>();

  const settle: Drains['settle'] = async (machine) => {
    const { state, since, deadline } = machine.lifecycle;
    if (state !== 'draining') return;
    const task = (await store.tasksOf(machine.id, TASKS_READ)).find((candidate) => isDrainOf(candidate, since));
    if (!task) {
      const within = Math.max(0, (deadline ?? now()) - now());
      await tasks.run(machine, { kind: 'drain', parameters: { since: String(since) }, within }, BY_APPLIANCE);
      return;
    }
    if (!isOver(task.state)) return;
    if (task.state === 'succeeded') await nodeReported(commands, machine, 'drained', null);
    else await nodeReported(commands, machine, 'drain-failed', null, failureOf(task));
  };

  const undo = async (machine: Machine): Promise<void> => {
    const { id, lifecycle } = machine;
    if (lifecycle.state !== 'active' || undone.get(id) === lifecycle.since) return;
    for (const task of (await store.tasksOf(id, TASKS_READ)).filter(concernsDraining)) {
      if (task.kind === 'undrain') break;
      const isWaiting = task.state === 'queued' || task.state === 'leased';
      // If the task started in the meantime, the next run decides again.
      if (isWaiting && !(await tasks.cancel(task, 'the node is active again', BY_APPLIANCE))) return;
      if (!mayHaveStarted(task)) continue;
      await tasks.run(machine, { kind: 'undrain', parameters: {} }, BY_APPLIANCE);
      break;
    }
    undone.set(id, lifecycle.since);
  };

  return {
    settle,
    reconcile: async () => {
      const failures: unknown[] = [];
      const seen = new Set<MachineId>();
      for (const machine of machines()) {
        seen.add(machine.id);
        // A node that fails does not delay the others.
        await settle(machine).catch((error: unknown) => failures.push(error));
        await undo(machine).catch((error: unknown) => failures.push(error));
      }
      undone = new Map([...undone].filter(([id]) => seen.has(id)));
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** A task that ended before it started says nothing: the one before it counts. */
const concernsDraining = (task: Task): boolean =>
  (task.kind === 'drain' || task.kind === 'undrain') && (!isOver(task.state) || mayHaveStarted(task));

/** Each lease counts as an attempt: before and during the first one, the task has not started. */
function mayHaveStarted({ state, attempts }: Task): boolean {
  if (state === 'queued') return attempts > 0;
  if (state === 'leased') return attempts > 1;
  return state !== 'expired' || attempts > 1;
}

/** Matches the start of the drain, not the task's time: the clock may be set back, and a node may be drained twice. */
const isDrainOf = ({ kind, parameters }: Task, since: Instant): boolean =>
  kind === 'drain' && parameters.since === String(since);

function failureOf({ state, result }: Task): string {
  const lastLine = result?.output.trim().split('\n').at(-1)?.slice(0, 200);
  if (state === 'failed')
    return lastLine ? `the node reported: ${lastLine}` : 'the node reported a failure without a reason';
  return state === 'expired'
    ? 'the node did not fetch the task in time'
    : 'the node started the task, but reported no result';
}
