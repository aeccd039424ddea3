// A node that is being drained is told so with a task, and what comes of the task moves its life on. Both are found in the store
// and not remembered: a process that was killed in between is no reason for a drain to hang.

import type { Instant } from '../domain/instant.ts';
import type { Machine } from '../domain/machine.ts';
import { isOver, type Task } from '../domain/task.ts';
import type { MachineCommands } from '../machines/execute.ts';
import type { Store } from '../store/store.ts';
import { nodeReported } from './node-reports.ts';
import type { TaskQueue } from './task-queue.ts';

export interface DrainsDeps {
  readonly store: Pick<Store, 'tasksOf'>;
  readonly tasks: Pick<TaskQueue, 'run'>;
  readonly machines: () => Iterable<Machine>;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly now: () => Instant;
}

export interface Drains {
  /** Asks every node that is being drained and was not asked yet, and takes in what they answered. */
  look(): Promise<void>;
  /** The same for one; nothing for a node that is not being drained. */
  settle(machine: Machine): Promise<void>;
}

/** Far more than a node gets during one drain. */
const TASKS_LOOKED_AT = 200;

export function createDrains({ store, tasks, machines, commands, now }: DrainsDeps): Drains {
  const settle: Drains['settle'] = async (machine) => {
    const { state, since, deadline } = machine.lifecycle;
    if (state !== 'draining') return;
    const asked = (await store.tasksOf(machine.id, TASKS_LOOKED_AT)).find((task) => isAbout(task, since));
    if (!asked) {
      const within = Math.max(0, (deadline ?? now()) - now());
      const by = { actor: 'appliance', correlationId: null };
      await tasks.run(machine, { kind: 'drain', parameters: { since: String(since) }, within }, by);
      return;
    }
    if (!isOver(asked.state)) return;
    if (asked.state === 'succeeded') await nodeReported(commands, machine, 'drained', null);
    else await nodeReported(commands, machine, 'drain-failed', null, failureOf(asked));
  };

  return {
    settle,
    look: async () => {
      const failures: unknown[] = [];
      for (const machine of machines()) await settle(machine).catch((error: unknown) => failures.push(error));
      // One that cannot be asked keeps nobody else waiting.
      if (failures.length > 0) throw failures[0];
    },
  };
}

/** By the beginning of the drain, and not by time: a clock may be set back, and a node may be drained for the second time. */
const isAbout = ({ kind, parameters }: Task, since: Instant): boolean =>
  kind === 'drain' && parameters.since === String(since);

function failureOf({ state, result }: Task): string {
  const told = result?.output.trim().split('\n').at(-1)?.slice(0, 200);
  if (state === 'failed') return told ? `the node says: ${told}` : 'the node could not, and gave no reason';
  return state === 'expired' ? 'the node did not take up the task in time' : 'the node began, and was not heard again';
}
