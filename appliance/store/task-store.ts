// What is remembered about enrolled nodes at work: the tasks they were given, and when they were last heard.

import type { Json, NewAuditEntry, NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { SweptTask, Task, TaskId, TaskResult } from '../domain/task.ts';

export type NewTask = Omit<Task, 'state' | 'lease' | 'leaseUntil' | 'attempts' | 'finishedAt' | 'result'>;

export interface Lease {
  readonly machine: MachineId;
  readonly lease: string;
  readonly now: Instant;
  readonly until: Instant;
}

export interface FinishedTask {
  readonly id: TaskId;
  readonly machine: MachineId;
  readonly now: Instant;
  readonly result: TaskResult;
  readonly event: NewEvent;
}

/**
 * `recorded`: it is on disk. `repeated`: the same was said before. `differs`: something else was said before, and stays.
 * `refused`: it was never begun. `absent`: there is no such task of this machine.
 */
export type ResultVerdict = 'recorded' | 'repeated' | 'differs' | 'refused' | 'absent';

export interface Heartbeat {
  readonly machine: MachineId;
  readonly at: Instant;
  readonly report: Json;
}

/** How often a repeatable task is given out before it counts as failed. */
export const MOST_ATTEMPTS = 3;
/** How many tasks of one machine may wait at a time. */
export const MOST_OPEN_TASKS = 100;

/** Each verb is one transaction, as `store.ts` promises. */
export interface TaskStore {
  /** `conflict` for a removed machine, and while too many wait. */
  createTask(task: NewTask, event: NewEvent, audit: NewAuditEntry): Promise<void>;
  task(id: TaskId): Promise<Task | null>;
  /** The newest first. */
  tasksOf(machine: MachineId, limit: number): Promise<Task[]>;
  /** The oldest that waits, for exactly one caller. Null when none does. */
  leaseTask(lease: Lease): Promise<Task | null>;
  /** True for the holder of the lease that counts, while it and the task's own time last. Said twice it is the same. */
  startTask(id: TaskId, lease: Lease, event: NewEvent): Promise<boolean>;
  finishTask(finished: FinishedTask): Promise<ResultVerdict>;
  /** Expires a task that waits or is leased, so that it never begins. False: it has begun, or is over. */
  cancelTask(id: TaskId, now: Instant, event: NewEvent): Promise<boolean>;
  /**
   * What should have been heard of by now: what was never begun waits again, or has expired; what was begun waits again where
   * that is allowed, and is failed or unknown otherwise. Returns each as it is now.
   */
  sweepTasks(now: Instant, event: (task: SweptTask) => NewEvent): Promise<Task[]>;
  /** Over for longer than this: forgotten. Returns how many. */
  trimTasks(before: Instant): Promise<number>;

  /** The newest word of each machine; older ones are not kept. */
  putHeartbeats(heartbeats: readonly Heartbeat[]): Promise<void>;
  heartbeats(): Promise<Heartbeat[]>;
  heartbeatOf(machine: MachineId): Promise<Heartbeat | null>;
}
