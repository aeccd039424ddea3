// A drain is a task of the node, and its result moves the lifecycle on. When the node is active again, the drain is undone:
// its task is cancelled before it begins, or an `undrain` task follows. Both are derived from the tasks in the store, so a
// process that is killed in between leaves nothing undone.

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
  look(): Promise<void>;
  /** Creates or evaluates the drain task of one node; does nothing for a node that is not being drained. */
  settle(machine: Machine): Promise<void>;
}

/** Far more than a node gets during one drain. */
const TASKS_LOOKED_AT = 200;

const BY_APPLIANCE: Origin = { actor: 'appliance', correlationId: null };

export function createDrains({ store, tasks, machines, commands, now }: DrainsDeps): Drains {
  /** Active nodes without a drain to undo, by when they became active: each state visit costs one query. */
  let undone = new Map<MachineId, Instant>();

  const settle: Drains['settle'] = async (machine) => {
    const { state, since, deadline } = machine.lifecycle;
    if (state !== 'draining') return;
    const asked = (await store.tasksOf(machine.id, TASKS_LOOKED_AT)).find((task) => isAbout(task, since));
    if (!asked) {
      const within = Math.max(0, (deadline ?? now()) - now());
      await tasks.run(machine, { kind: 'drain', parameters: { since: String(since) }, within }, BY_APPLIANCE);
      return;
    }
    if (!isOver(asked.state)) return;
    if (asked.state === 'succeeded') await nodeReported(commands, machine, 'drained', null);
    else await nodeReported(commands, machine, 'drain-failed', null, failureOf(asked));
  };

  const undo = async (machine: Machine): Promise<void> => {
    const { id, lifecycle } = machine;
    if (lifecycle.state !== 'active' || undone.get(id) === lifecycle.since) return;
    const last = (await store.tasksOf(id, TASKS_LOOKED_AT)).find(({ kind }) => kind === 'drain' || kind === 'undrain');
    if (last?.kind === 'drain') {
      const isWaiting = last.state === 'queued' || last.state === 'leased';
      // A task that was begun in the meantime is looked at again.
      if (isWaiting && !(await tasks.cancel(last, 'the node is active again', BY_APPLIANCE))) return;
      if (mayHaveBegun(last)) await tasks.run(machine, { kind: 'undrain', parameters: {} }, BY_APPLIANCE);
    }
    undone.set(id, lifecycle.since);
  };

  return {
    settle,
    look: async () => {
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

/** Each lease is an attempt: before the first one, and during it, nothing has begun. */
function mayHaveBegun({ state, attempts }: Task): boolean {
  if (state === 'queued') return attempts > 0;
  if (state === 'leased') return attempts > 1;
  return state !== 'expired' || attempts > 1;
}

/** By the beginning of the drain, and not by time: a clock may be set back, and a node may be drained for the second time. */
const isAbout = ({ kind, parameters }: Task, since: Instant): boolean =>
  kind === 'drain' && parameters.since === String(since);

function failureOf({ state, result }: Task): string {
  const told = result?.output.trim().split('\n').at(-1)?.slice(0, 200);
  if (state === 'failed') return told ? `the node says: ${told}` : 'the node could not, and gave no reason';
  return state === 'expired' ? 'the node did not take up the task in time' : 'the node began, and was not heard again';
}
