// Tasks on their way: asked for by somebody, signed, fetched by the node, begun, and told of. Each step is in the store before
// the next; nothing that cannot be done twice is begun twice.

import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
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
import { auditOf, eventOf } from './enrollment-records.ts';
import { standingOf } from './node-eligibility.ts';
import { createBells, type SetTimer } from './notifier.ts';
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
    | 'sweepTasks'
    | 'trimTasks'
    | 'appendAudit'
  >;
  readonly signer: Pick<TaskSigner, 'sign'>;
  readonly now: () => Instant;
  readonly setTimer: SetTimer;
  readonly newId: () => string;
}

export interface TaskOrder {
  readonly kind: TaskKind;
  readonly parameters: TaskParameters;
  /** How long it may wait for its node. */
  readonly within?: Instant;
}

/** The node that speaks, as its certificate says. */
export type TaskHolder = Pick<Machine, 'id' | 'lifecycle'> & { readonly spec: Pick<Machine['spec'], 'hostname'> };

export interface TaskQueue {
  /** `invalid_request` for parameters that the kind does not take, `conflict` for a node that gets no tasks. */
  run(machine: Machine, order: TaskOrder, onBehalf: Origin): Promise<Task>;
  /** The next one for this node, as soon as there is one and it may have it; null when time is over. */
  next(
    machine: MachineId,
    mayWork: () => Promise<boolean>,
    patience: Instant,
    signal: AbortSignal,
  ): Promise<Task | null>;
  /** False: somebody else has it now, or its time is over. The node must not begin. */
  begin(holder: TaskHolder, id: TaskId, lease: string, correlationId: string): Promise<boolean>;
  /** `repeated`: the same was told before. `conflict` when something else was, or it was never begun. */
  finish(holder: TaskHolder, id: TaskId, result: TaskResult, correlationId: string): Promise<'recorded' | 'repeated'>;
  /** Whether the node should go on with a task that it has begun. False after its machine left the state that the task is for. */
  mayContinue(holder: TaskHolder, id: TaskId): Promise<boolean>;
  /** Cancels a task that has not begun. False: it has begun, or is over. */
  cancel(task: Task, reason: string, onBehalf: Origin): Promise<boolean>;
  /** The task as it is when it is over, or when time is. */
  outcome(id: TaskId, patience: Instant, signal: AbortSignal): Promise<Task | null>;
  /** What was handed out and never heard of again. */
  sweep(): Promise<void>;
  trim(): Promise<number>;
  /** Ends every wait: there is something else to be told. */
  wakeAll(): void;
}

/** A node that fetched a task says at once that it begins. */
const LEASE = 30 * SECOND;
const STANDARD_WAIT = 60 * MINUTE;
/** The node stops by itself when its limit is over; the answer may take its time. */
const MARGIN = MINUTE;
const KEPT = 30 * 24 * 60 * MINUTE;

export function createTaskDesk({ store, signer, now, setTimer, newId }: TaskQueueDeps): TaskQueue {
  const fetchers = createBells<MachineId>(setTimer);
  const askers = createBells<TaskId>(setTimer);

  const run: TaskQueue['run'] = async (machine, { kind, parameters, within = STANDARD_WAIT }, onBehalf) => {
    const { tasks, because } = standingOf(machine.lifecycle);
    if (!tasks) throw new ColdironError('conflict', `${machine.spec.hostname} gets no tasks: ${because}`);
    const { onlyWhile = machine.lifecycle.state } = taskDefinition(kind);
    if (onlyWhile !== machine.lifecycle.state) {
      throw new ColdironError('conflict', `${machine.spec.hostname} is not ${onlyWhile}: it gets no task ${kind}`);
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
    const about = { task: id, kind, parameters: checked.value };
    await store.createTask(
      {
        id,
        machine: machine.id,
        kind,
        parameters: checked.value,
        actor: onBehalf.actor,
        createdAt,
        expiresAt,
        payload: signed.payload,
        signature: signed.signature,
        signingKey: signed.keyId,
      },
      eventOf('task.created', machine.id, createdAt, onBehalf, about),
      auditOf('task.created', `node:${machine.spec.hostname}`, createdAt, onBehalf, about),
    );
    fetchers.ring(machine.id);
    return existing(id);
  };

  const existing = async (id: TaskId): Promise<Task> => {
    const task = await store.task(id);
    if (!task) throw new ColdironError('not_found', `there is no task ${id}`);
    return task;
  };

  const next: TaskQueue['next'] = async (machine, mayWork, patience, signal) => {
    const lease = async (): Promise<Task | null> =>
      (await mayWork()) ? store.leaseTask({ machine, lease: newId(), now: now(), until: now() + LEASE }) : null;
    const found = new AbortController();
    // Listening before looking: what comes in between is heard.
    const heard = fetchers.hear(machine, patience, AbortSignal.any([signal, found.signal]));
    const first = await lease();
    if (first) {
      found.abort();
      return first;
    }
    await heard;
    return signal.aborted ? null : lease();
  };

  const begin: TaskQueue['begin'] = async (holder, id, lease, correlationId) => {
    const task = await store.task(id);
    if (task?.machine !== holder.id || !mayBegin(task, holder)) return false;
    const at = now();
    return store.startTask(
      id,
      { machine: holder.id, lease, now: at, until: at + taskDefinition(task.kind).limit + MARGIN },
      eventOf('task.begun', holder.id, at, behalfOf(holder, correlationId), { task: id, kind: task.kind }),
    );
  };

  const finish: TaskQueue['finish'] = async (holder, id, result, correlationId) => {
    if (Buffer.byteLength(result.output) > MAX_TASK_OUTPUT) {
      throw new ColdironError('payload_too_large', `output: has more than ${MAX_TASK_OUTPUT} bytes`);
    }
    const at = now();
    const onBehalf = behalfOf(holder, correlationId);
    const kind = result.succeeded ? 'task.succeeded' : 'task.failed';
    const event = eventOf(kind, holder.id, at, onBehalf, { task: id, output: firstLine(result.output) });
    const verdict = await store.finishTask({ id, machine: holder.id, now: at, result, event });
    switch (verdict) {
      case 'recorded':
        askers.ring(id);
        return verdict;
      case 'repeated':
        return verdict;
      case 'absent':
        throw new ColdironError('not_found', `this node has no task ${id}`);
      case 'refused':
        throw new ColdironError('conflict', `task ${id} was not begun`);
      case 'differs':
        await store.appendAudit([
          auditOf('task.result_refused', `node:${holder.spec.hostname}`, at, onBehalf, {
            task: id,
            reason: 'another result was told before',
          }),
        ]);
        throw new ColdironError('conflict', `another result of task ${id} was told before, and stays`);
    }
  };

  return {
    run,
    next,
    begin,
    finish,
    mayContinue: async (holder, id) => {
      const task = await store.task(id);
      return task?.machine === holder.id && task.state === 'running' && mayBegin(task, holder);
    },
    cancel: async ({ id, machine, kind }, reason, onBehalf) => {
      const at = now();
      const event = eventOf('task.cancelled', machine, at, onBehalf, { task: id, kind, reason });
      const cancelled = await store.cancelTask(id, at, event);
      if (cancelled) askers.ring(id);
      return cancelled;
    },
    outcome: async (id, patience, signal) => {
      const found = new AbortController();
      const heard = askers.hear(id, patience, AbortSignal.any([signal, found.signal]));
      const task = await store.task(id);
      if (!task || isOver(task.state)) {
        found.abort();
        return task;
      }
      await heard;
      return store.task(id);
    },
    sweep: async () => {
      const at = now();
      const swept = await store.sweepTasks(at, ({ id, machine, kind, state }) =>
        eventOf(`task.${state}`, machine, at, { actor: 'appliance', correlationId: null }, { task: id, kind }),
      );
      for (const { id, machine, state } of swept) {
        if (isOver(state)) askers.ring(id);
        else fetchers.ring(machine);
      }
    },
    trim: () => store.trimTasks(now() - KEPT),
    wakeAll: () => fetchers.ringAll(),
  };
}

/** Its life may have gone on since the task was handed out. */
const mayBegin = ({ kind }: Task, { lifecycle }: TaskHolder): boolean =>
  standingOf(lifecycle).tasks && (taskDefinition(kind).onlyWhile ?? lifecycle.state) === lifecycle.state;

const behalfOf = ({ spec }: TaskHolder, correlationId: string): Origin => ({
  actor: `machine:${spec.hostname}`,
  correlationId,
});

/** What a line of the trail has room for. */
const firstLine = (text: string): string => text.split('\n', 1)[0]?.slice(0, 200) ?? '';
