import type { Selectable } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry, NewEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import {
  type SweptTask,
  type Task,
  type TaskId,
  type TaskKind,
  type TaskParameters,
  type TaskResult,
  taskDefinition,
} from '../../domain/task.ts';
import type { TaskCancellation } from '../change.ts';
import {
  type ClosedTask,
  type FinishedTask,
  MAX_OPEN_TASKS,
  MAX_TASK_ATTEMPTS,
  type NewTask,
  type ResultVerdict,
  type TaskLease,
} from '../task-store.ts';
import { insertAudit } from './audit.ts';
import { insertEvents } from './events.ts';
import { requireMachine } from './machines.ts';
import type { TaskTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

const OPEN = ['queued', 'leased', 'running'] as const;

export async function insertTask(trx: Writer, task: NewTask, event: NewEvent, audit: NewAuditEntry): Promise<void> {
  const { hostname, state } = await requireMachine(trx, task.machine);
  if (state === 'removed') throw new ColdironError('conflict', `${hostname} is removed: it cannot get tasks`);
  const { open } = await trx
    .selectFrom('tasks')
    .select((eb) => eb.fn.countAll<number>().as('open'))
    .where('machine', '=', task.machine)
    .where('state', 'in', OPEN)
    .executeTakeFirstOrThrow();
  if (Number(open) >= MAX_OPEN_TASKS) {
    throw new ColdironError(
      'conflict',
      `${hostname} has ${open} open tasks, which is the limit: wait until some of them finish`,
    );
  }
  await trx
    .insertInto('tasks')
    .values({
      id: task.id,
      machine: task.machine,
      kind: task.kind,
      parameters: JSON.stringify(task.parameters),
      state: 'queued',
      actor: task.actor,
      created_at: task.createdAt,
      expires_at: task.expiresAt,
      payload: task.payload,
      signature: task.signature,
      signing_key: task.signingKey,
      lease: null,
      lease_until: null,
      attempts: 0,
      finished_at: null,
      result: null,
    })
    .execute();
  await insertEvents(trx, [event]);
  await insertAudit(trx, [audit]);
}

export async function readTask(db: Reader, id: TaskId): Promise<Task | null> {
  const row = await db.selectFrom('tasks').selectAll().where('id', '=', id).executeTakeFirst();
  return row ? toTask(row) : null;
}

export async function readTasksOf(db: Reader, machine: MachineId, limit: number): Promise<Task[]> {
  const rows = await db
    .selectFrom('tasks')
    .selectAll()
    .where('machine', '=', machine)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(toTask);
}

/** One conditional update: exactly one of several concurrent callers changes the row. */
export async function leaseTask(trx: Writer, { machine, lease, now, until }: TaskLease): Promise<Task | null> {
  const row = await trx
    .updateTable('tasks')
    .set((eb) => ({ state: 'leased', lease, lease_until: until, attempts: eb('attempts', '+', 1) }))
    .where('state', '=', 'queued')
    .where('id', 'in', (eb) =>
      eb
        .selectFrom('tasks')
        .select('id')
        .where('machine', '=', machine)
        .where('state', '=', 'queued')
        .where('expires_at', '>', now)
        .orderBy('created_at')
        .orderBy('id')
        .limit(1),
    )
    .returningAll()
    .executeTakeFirst();
  return row ? toTask(row) : null;
}

export async function startTask(trx: Writer, id: TaskId, lease: TaskLease, event: NewEvent): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('tasks')
    .set({ state: 'running', lease_until: lease.until })
    .where('id', '=', id)
    .where('machine', '=', lease.machine)
    .where('state', 'in', ['leased', 'running'])
    .where('lease', '=', lease.lease)
    .where('lease_until', '>', lease.now)
    .where('expires_at', '>', lease.now)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) return false;
  await insertEvents(trx, [event]);
  return true;
}

export async function finishTask(trx: Writer, finished: FinishedTask): Promise<ResultVerdict> {
  const task = await readTask(trx, finished.id);
  if (task?.machine !== finished.machine) return 'absent';
  if (task.result !== null) return sameResult(task.result, finished.result) ? 'repeated' : 'differs';
  // A requeued task may have been started before, and the late result may be from that attempt.
  if (task.state === 'expired' || task.state === 'leased' || (task.state === 'queued' && task.attempts === 0)) {
    return 'refused';
  }
  await trx
    .updateTable('tasks')
    .set({
      state: finished.result.succeeded ? 'succeeded' : 'failed',
      finished_at: finished.now,
      lease: null,
      lease_until: null,
      result: JSON.stringify(finished.result),
    })
    .where('id', '=', finished.id)
    .execute();
  await insertEvents(trx, [finished.event]);
  return 'recorded';
}

export async function cancelTask(trx: Writer, id: TaskId, now: Instant, event: NewEvent): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('tasks')
    .set({ state: 'expired', finished_at: now, lease: null, lease_until: null })
    .where('id', '=', id)
    .where('state', 'in', ['queued', 'leased'])
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) return false;
  await insertEvents(trx, [event]);
  return true;
}

export async function closeTask(trx: Writer, closing: ClosedTask): Promise<boolean> {
  const { id, from, now, output, next } = closing;
  const { numUpdatedRows } = await trx
    .updateTable('tasks')
    .set({
      state: 'failed',
      finished_at: now,
      lease: null,
      lease_until: null,
      result: JSON.stringify({ succeeded: false, output } satisfies TaskResult),
    })
    .where('id', '=', id)
    .where('state', 'in', [...from])
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) return false;
  await insertEvents(trx, [closing.event]);
  await insertAudit(trx, [closing.audit]);
  if (next) await insertTask(trx, next.task, next.event, next.audit);
  return true;
}

/** Returns an event for each cancelled task. */
export async function cancelTasks(
  trx: Writer,
  machine: MachineId,
  { task: kind, which, at, origin, reason }: TaskCancellation,
): Promise<NewEvent[]> {
  const rows = await trx
    .updateTable('tasks')
    .set({ state: 'expired', finished_at: at, lease: null, lease_until: null })
    .where('machine', '=', machine)
    .where('kind', '=', kind)
    .where((eb) => {
      // Each lease counts as an attempt.
      const waits = (state: 'queued' | 'leased', attempts: number) =>
        which === 'waiting'
          ? eb('state', '=', state)
          : eb.and([eb('state', '=', state), eb('attempts', '=', attempts)]);
      return eb.or([waits('queued', 0), waits('leased', 1)]);
    })
    .returning('id')
    .execute();
  const { actor, correlationId } = origin;
  return rows.map(({ id }) => ({
    at,
    kind: 'task.cancelled',
    actor,
    machine,
    correlationId,
    data: { task: id, kind, reason },
  }));
}

const sameResult = (a: TaskResult, b: TaskResult): boolean => a.succeeded === b.succeeded && a.output === b.output;

export async function sweepTasks(trx: Writer, now: Instant, event: (task: SweptTask) => NewEvent): Promise<Task[]> {
  const rows = await trx
    .selectFrom('tasks')
    .selectAll()
    .where('state', 'in', OPEN)
    .where((eb) =>
      eb.or([eb('lease_until', '<=', now), eb.and([eb('state', '=', 'queued'), eb('expires_at', '<=', now)])]),
    )
    .execute();
  const swept = rows.map(toTask).map((task) => ({ ...task, ...afterLeaseExpiry(task, now) }));
  for (const { id, state, lease, leaseUntil, finishedAt, result } of swept) {
    await trx
      .updateTable('tasks')
      .set({
        state,
        lease,
        lease_until: leaseUntil,
        finished_at: finishedAt,
        result: result && JSON.stringify(result),
      })
      .where('id', '=', id)
      .execute();
  }
  await insertEvents(trx, swept.map(event));
  return swept;
}

type ExpiredLease = Pick<SweptTask, 'state' | 'lease' | 'leaseUntil' | 'finishedAt' | 'result'>;

function afterLeaseExpiry({ state, kind, attempts, expiresAt }: Task, now: Instant): ExpiredLease {
  const unleased = { lease: null, leaseUntil: null, result: null };
  const ended = (as: SweptTask['state']): ExpiredLease => ({ ...unleased, state: as, finishedAt: now });
  if (state === 'running' && !taskDefinition(kind).repeatable) return ended('unknown');
  if (attempts >= MAX_TASK_ATTEMPTS) return ended(state === 'running' ? 'unknown' : 'expired');
  return now < expiresAt
    ? { ...unleased, state: 'queued', finishedAt: null }
    : ended(state === 'running' ? 'unknown' : 'expired');
}

export async function deleteTasksBefore(trx: Writer, before: Instant): Promise<number> {
  const { numDeletedRows } = await trx.deleteFrom('tasks').where('finished_at', '<', before).executeTakeFirst();
  return Number(numDeletedRows);
}

/** Id, kind and JSON are cast: only `insertTask` and `finishTask` write them. */
const toTask = (row: Selectable<TaskTable>): Task => ({
  id: row.id as TaskId,
  machine: mustParse(parseMachineId(row.machine)),
  kind: row.kind as TaskKind,
  parameters: JSON.parse(row.parameters) as TaskParameters,
  state: row.state,
  actor: row.actor,
  createdAt: row.created_at,
  expiresAt: row.expires_at,
  payload: row.payload,
  signature: row.signature,
  signingKey: row.signing_key,
  lease: row.lease,
  leaseUntil: row.lease_until,
  attempts: row.attempts,
  finishedAt: row.finished_at,
  result: row.result === null ? null : (JSON.parse(row.result) as TaskResult),
});
