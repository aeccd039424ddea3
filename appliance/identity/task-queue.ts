// The tasks of nodes: created, signed, fetched by the node, started, and finished with a result. Each step is in the store
// before the next one; a task that is not repeatable is never started twice.

import { ColdironError } from '../domain/errors.ts';
import type { Json, Origin } from '../domain/event.ts';
import type { EventData } from '../domain/events/event-table.ts';
import { type Instant, MINUTE, SECOND } from '../domain/instant.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import {
  isOver,
  MAX_TASK_OUTPUT,
  type Task,
  type TaskId,
  type TaskKind,
  type TaskParameters,
  type TaskResult,
  taskDefinition,
  taskParameters,
} from '../domain/task.ts';
import type { Store } from '../store/store.ts';
import type { ClosedTask } from '../store/task-store.ts';
import { auditOf, eventOf } from './enrollment-records.ts';
import { eligibilityOf } from './node-eligibility.ts';
import { createNotifier, type SetTimer } from './notifier.ts';
import type { TaskSigner } from './task-signing.ts';

export interface TaskQueueDeps {
  readonly store: Pick<
    Store,
    | 'createTask'
    | 'task'
    | 'tasksOf'
    | 'leaseTask'
    | 'startTask'
    | 'finishTask'
    | 'cancelTask'
    | 'closeTask'
    | 'sweepTasks'
    | 'trimTasks'
    | 'appendAudit'
    | 'subscribe'
  >;
  readonly signer: Pick<TaskSigner, 'sign'>;
  readonly now: () => Instant;
  readonly setTimer: SetTimer;
  readonly newId: () => string;
}

export interface TaskOrder {
  readonly kind: TaskKind;
  readonly parameters: TaskParameters;
  /** How long it may wait until the node fetches it. */
  readonly within?: Instant;
}

/** The calling node, identified by its certificate. */
export type TaskHolder = Pick<Machine, 'id' | 'lifecycle'> & { readonly spec: Pick<Machine['spec'], 'hostname'> };

export interface TaskQueue {
  /** `invalid_request` for invalid parameters, `conflict` if the node's state allows no tasks. */
  run(machine: Machine, order: TaskOrder, origin: Origin): Promise<Task>;
  /** Waits for the next task of this node; null after the timeout. */
  next(
    machine: MachineId,
    mayWork: () => Promise<boolean>,
    timeout: Instant,
    signal: AbortSignal,
  ): Promise<Task | null>;
  /** False: the lease is lost or the task has expired. The node must not start it. */
  begin(holder: TaskHolder, id: TaskId, lease: string, correlationId: string): Promise<boolean>;
  /** `repeated`: the same result was reported before. `conflict` for a different result, or if the task was not started. */
  finish(holder: TaskHolder, id: TaskId, result: TaskResult, correlationId: string): Promise<'recorded' | 'repeated'>;
  /** Whether the node may continue a started task. False after its machine left the state that the task is for. */
  mayContinue(holder: TaskHolder, id: TaskId): Promise<boolean>;
  /** Cancels a task that has not started. False: it has started, or is over. */
  cancel(task: Task, reason: string, origin: Origin): Promise<boolean>;
  /**
   * Runs a task again whose result was never reported, with new signature and id. `conflict` if it is not in that state, or if its workflow
   * decides that by itself.
   */
  resume(machine: Machine, task: Task, reason: string, origin: Origin): Promise<Task>;
  /** Gives up a task whose result was never reported, or that runs: the node is told to stop it. `conflict` if it is over. */
  abandon(machine: Machine, task: Task, reason: string, origin: Origin): Promise<Task>;
  /** Waits until the task is over or the timeout passes, and returns it. */
  outcome(id: TaskId, timeout: Instant, signal: AbortSignal): Promise<Task | null>;
  /** Requeues or ends tasks whose lease or lifetime has expired. */
  sweep(): Promise<void>;
  trim(): Promise<number>;
  /** Ends every wait of `next`, so that nodes send a heartbeat and get its news. */
  wakeAll(): void;
  /** The same for one node. */
  wake(machine: MachineId): void;
}

/** A node confirms the start right after it fetched a task. */
const LEASE = 30 * SECOND;
const STANDARD_WAIT = 60 * MINUTE;
/** The node stops a task at its limit; the report may take longer. */
const MARGIN = MINUTE;
const KEPT = 30 * 24 * 60 * MINUTE;

export function createTaskQueue({ store, signer, now, setTimer, newId }: TaskQueueDeps): TaskQueue {
  const taskWaiters = createNotifier<MachineId>(setTimer);
  const resultWaiters = createNotifier<TaskId>(setTimer);
  // A change of the machine's state may cancel a task in its own commit.
  store.subscribe(({ events }) => {
    for (const event of events) if (event.kind === 'task.cancelled') resultWaiters.notify(event.data.task as TaskId);
  });

  /** A signed task that is not stored yet, with its event and audit entry. */
  const drafted = async (
    machine: Machine,
    { kind, parameters, within = STANDARD_WAIT }: TaskOrder,
    origin: Origin,
  ): Promise<NonNullable<ClosedTask['next']>> => {
    const { tasks, because } = eligibilityOf(machine.lifecycle);
    if (!tasks) throw new ColdironError('conflict', `${machine.spec.hostname} gets no tasks: ${because}`);
    const { onlyWhile = machine.lifecycle.state } = taskDefinition(kind);
    if (onlyWhile !== machine.lifecycle.state) {
      throw new ColdironError(
        'conflict',
        `${machine.spec.hostname} is not ${onlyWhile}: the task ${kind} is allowed only in that state`,
      );
    }
    const checked = taskParameters(kind, parameters);
    if (!checked.ok) throw new ColdironError('invalid_request', `parameters: ${checked.reason}`);
    const createdAt = now();
    const id = newId() as TaskId;
    const expiresAt = createdAt + within;
    const signed = await signer.sign({
      taskId: id,
      nodeId: machine.id,
      kind,
      parameters: checked.value,
      issuedAt: createdAt,
      expiresAt,
    });
    const about = { task: id, kind, parameters: inShort(checked.value) };
    return {
      task: {
        id,
        machine: machine.id,
        kind,
        parameters: checked.value,
        actor: origin.actor,
        createdAt,
        expiresAt,
        payload: signed.payload,
        signature: signed.signature,
        signingKey: signed.keyId,
      },
      event: eventOf('task.created', machine.id, createdAt, origin, about),
      audit: auditOf('task.created', `node:${machine.spec.hostname}`, createdAt, origin, about),
    };
  };

  const run: TaskQueue['run'] = async (machine, order, origin) => {
    const { task, event, audit } = await drafted(machine, order, origin);
    await store.createTask(task, event, audit);
    taskWaiters.notify(machine.id);
    return existing(task.id);
  };

  const resume: TaskQueue['resume'] = async (machine, { id, kind, parameters }, reason, origin) => {
    if (taskDefinition(kind).internal) {
      throw new ColdironError('conflict', `${kind} is a part of other work, which repeats it by itself`);
    }
    const next = await drafted(machine, { kind, parameters }, origin);
    const about = { task: id, kind, next: next.task.id, reason };
    const output = `resumed as ${next.task.id} by ${origin.actor}: ${reason}`;
    await closed(machine, { id, from: ['unknown'], output, next }, 'task.resumed', about, origin);
    taskWaiters.notify(machine.id);
    return existing(next.task.id);
  };

  const abandon: TaskQueue['abandon'] = async (machine, { id, kind }, reason, origin) => {
    const output = `abandoned by ${origin.actor}: ${reason}`;
    const about = { task: id, kind, reason };
    await closed(machine, { id, from: ['unknown', 'running'], output, next: null }, 'task.abandoned', about, origin);
    return existing(id);
  };

  const closed = async <Kind extends 'task.resumed' | 'task.abandoned'>(
    { id: machine, spec }: Machine,
    closing: Pick<ClosedTask, 'id' | 'from' | 'output' | 'next'>,
    kind: Kind,
    about: EventData<Kind>,
    origin: Origin,
  ): Promise<void> => {
    const at = now();
    const isClosed = await store.closeTask({
      ...closing,
      now: at,
      event: eventOf(kind, machine, at, origin, about),
      audit: auditOf(kind, `node:${spec.hostname}`, at, origin, about as Json),
    });
    if (!isClosed) {
      const { state } = await existing(closing.id);
      const wanted = closing.from.join(' or ');
      throw new ColdironError(
        'conflict',
        `task ${closing.id} is ${state}, and not ${wanted}: it cannot be ${kind.slice(5)}`,
      );
    }
    resultWaiters.notify(closing.id);
  };

  const existing = async (id: TaskId): Promise<Task> => {
    const task = await store.task(id);
    if (!task) throw new ColdironError('not_found', `there is no task ${id}`);
    return task;
  };

  const next: TaskQueue['next'] = async (machine, mayWork, timeout, signal) => {
    const lease = async (): Promise<Task | null> =>
      (await mayWork()) ? store.leaseTask({ machine, lease: newId(), now: now(), until: now() + LEASE }) : null;
    const found = new AbortController();
    // Subscribe before reading, so that no notification is missed.
    const notified = taskWaiters.wait(machine, timeout, AbortSignal.any([signal, found.signal]));
    const first = await lease();
    if (first) {
      found.abort();
      return first;
    }
    await notified;
    return signal.aborted ? null : lease();
  };

  const begin: TaskQueue['begin'] = async (holder, id, lease, correlationId) => {
    const task = await store.task(id);
    if (task?.machine !== holder.id || !mayBegin(task, holder)) return false;
    const at = now();
    return store.startTask(
      id,
      { machine: holder.id, lease, now: at, until: at + taskDefinition(task.kind).limit + MARGIN },
      eventOf('task.begun', holder.id, at, originOf(holder, correlationId), { task: id, kind: task.kind }),
    );
  };

  const finish: TaskQueue['finish'] = async (holder, id, result, correlationId) => {
    if (Buffer.byteLength(result.output) > MAX_TASK_OUTPUT) {
      throw new ColdironError('payload_too_large', `output: has more than ${MAX_TASK_OUTPUT} bytes`);
    }
    const at = now();
    const origin = originOf(holder, correlationId);
    const kind = result.succeeded ? 'task.succeeded' : 'task.failed';
    const event = eventOf(kind, holder.id, at, origin, { task: id, output: firstLine(result.output) });
    const verdict = await store.finishTask({ id, machine: holder.id, now: at, result, event });
    switch (verdict) {
      case 'recorded':
        resultWaiters.notify(id);
        return verdict;
      case 'repeated':
        return verdict;
      case 'absent':
        throw new ColdironError('not_found', `this node has no task ${id}`);
      case 'refused':
        throw new ColdironError('conflict', `task ${id} was not started`);
      case 'differs':
        await store.appendAudit([
          auditOf('task.result_refused', `node:${holder.spec.hostname}`, at, origin, {
            task: id,
            reason: 'a different result was reported before',
          }),
        ]);
        throw new ColdironError('conflict', `a different result of task ${id} was reported before and is kept`);
    }
  };

  return {
    run,
    next,
    begin,
    finish,
    resume,
    abandon,
    mayContinue: async (holder, id) => {
      const task = await store.task(id);
      return task?.machine === holder.id && task.state === 'running' && mayBegin(task, holder);
    },
    cancel: async ({ id, machine, kind }, reason, origin) => {
      const at = now();
      const event = eventOf('task.cancelled', machine, at, origin, { task: id, kind, reason });
      const cancelled = await store.cancelTask(id, at, event);
      if (cancelled) resultWaiters.notify(id);
      return cancelled;
    },
    outcome: async (id, timeout, signal) => {
      const found = new AbortController();
      const notified = resultWaiters.wait(id, timeout, AbortSignal.any([signal, found.signal]));
      const task = await store.task(id);
      if (!task || isOver(task.state)) {
        found.abort();
        return task;
      }
      await notified;
      return store.task(id);
    },
    sweep: async () => {
      const at = now();
      const swept = await store.sweepTasks(at, ({ id, machine, kind, state }) =>
        eventOf(`task.${state}`, machine, at, { actor: 'appliance', correlationId: null }, { task: id, kind }),
      );
      for (const { id, machine, state } of swept) {
        if (isOver(state)) resultWaiters.notify(id);
        else taskWaiters.notify(machine);
      }
    },
    trim: () => store.trimTasks(now() - KEPT),
    wakeAll: () => taskWaiters.notifyAll(),
    wake: (machine) => taskWaiters.notify(machine),
  };
}

/** The machine's state may have changed since the task was leased. */
const mayBegin = ({ kind }: Task, { lifecycle }: TaskHolder): boolean =>
  eligibilityOf(lifecycle).tasks && (taskDefinition(kind).onlyWhile ?? lifecycle.state) === lifecycle.state;

const originOf = ({ spec }: TaskHolder, correlationId: string): Origin => ({
  actor: `machine:${spec.hostname}`,
  correlationId,
});

/** The task itself has the whole value; an event and an audit entry need not repeat it. */
const inShort = (parameters: TaskParameters): TaskParameters =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name,
      value.length > SHORT ? `${value.slice(0, SHORT)}… (${value.length} characters)` : value,
    ]),
  );
const SHORT = 64;

/** Fits in one line of the trail. */
const firstLine = (text: string): string => text.split('\n', 1)[0]?.slice(0, 200) ?? '';
