// Stored tasks and last heartbeats of enrolled nodes.

import type { Json, NewAuditEntry, NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { SweptTask, Task, TaskId, TaskResult, TaskState } from '../domain/task.ts';

export type NewTask = Omit<Task, 'state' | 'lease' | 'leaseUntil' | 'attempts' | 'finishedAt' | 'result'>;

export interface TaskLease {
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

export interface ClosedTask {
  readonly id: TaskId;
  readonly from: readonly TaskState[];
  readonly now: Instant;
  /** Why, as the output of the task. */
  readonly output: string;
  readonly event: NewEvent;
  readonly audit: NewAuditEntry;
  readonly next: { readonly task: NewTask; readonly event: NewEvent; readonly audit: NewAuditEntry } | null;
}

/**
 * `recorded`: it is on disk. `repeated`: the same result was reported before. `differs`: a different result was reported before
 * and is kept. `refused`: the task was never started. `absent`: this machine has no such task.
 */
export type ResultVerdict = 'recorded' | 'repeated' | 'differs' | 'refused' | 'absent';

export interface Heartbeat {
  readonly machine: MachineId;
  readonly at: Instant;
  readonly report: Json;
}

/** How often a repeatable task is leased before it counts as failed. */
export const MAX_TASK_ATTEMPTS = 3;
/** How many open tasks one machine may have. */
export const MAX_OPEN_TASKS = 100;

/** Each method is one transaction, as `store.ts` promises. */
export interface TaskStore {
  /** `conflict` for a removed machine, and when too many tasks are open. */
  createTask(task: NewTask, event: NewEvent, audit: NewAuditEntry): Promise<void>;
  task(id: TaskId): Promise<Task | null>;
  /** The newest first. */
  tasksOf(machine: MachineId, limit: number): Promise<Task[]>;
  /** Leases the oldest queued task to exactly one caller. Null when there is none. */
  leaseTask(lease: TaskLease): Promise<Task | null>;
  /** True for the holder of the current lease, until the lease or the task expires. Idempotent. */
  startTask(id: TaskId, lease: TaskLease, event: NewEvent): Promise<boolean>;
  finishTask(finished: FinishedTask): Promise<ResultVerdict>;
  /** Expires a queued or leased task, so that it never starts. False: it has started, or is over. */
  cancelTask(id: TaskId, now: Instant, event: NewEvent): Promise<boolean>;
  /**
   * Ends a task whose result an operator no longer waits for, and creates `next` in the same transaction. False: it is in none of the states
   * `from`, and nothing was written.
   */
  closeTask(closing: ClosedTask): Promise<boolean>;
  /**
   * Handles expired leases and lifetimes: a task that was not started is queued again or expires; a started one is queued again
   * if it is repeatable, and is unknown otherwise. Returns the changed tasks.
   */
  sweepTasks(now: Instant, event: (task: SweptTask) => NewEvent): Promise<Task[]>;
  /** Deletes tasks that ended before this time. Returns how many. */
  trimTasks(before: Instant): Promise<number>;

  /** Keeps only the newest heartbeat of each machine. */
  putHeartbeats(heartbeats: readonly Heartbeat[]): Promise<void>;
  heartbeats(): Promise<Heartbeat[]>;
  heartbeatOf(machine: MachineId): Promise<Heartbeat | null>;
}
