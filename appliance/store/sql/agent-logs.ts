import { type Kysely, sql } from 'kysely';
import type { AgentLogLine, ErrorClass, LogAction } from '../../domain/agent-log.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Instant } from '../../domain/instant.ts';
import { type AgentLogQuery, type AgentLogStore, MAX_AGENT_LOG_LINES, type NewAgentLog } from '../agent-log-store.ts';
import { insertEvents } from './events.ts';
import { requireMachine } from './machines.ts';
import type { Database } from './schema.ts';
import { type Reader, type Writer, writing } from './transaction.ts';

export const agentLogVerbs = (db: Kysely<Database>): AgentLogStore => ({
  appendAgentLog: (log) => writing(db, (trx) => insertLines(trx, log)),
  agentLog: (query) => readLines(db, query),
  trimAgentLogs: (before) => writing(db, (trx) => deleteLinesBefore(trx, before)),
});

async function insertLines(trx: Writer, { machine, stream, receivedAt, lines, events }: NewAgentLog): Promise<number> {
  const { hostname, state } = await requireMachine(trx, machine);
  if (state === 'removed') throw new ColdironError('conflict', `${hostname} is removed: its log is not kept`);
  const known = await trx
    .selectFrom('agent_logs')
    .select((eb) => eb.fn.max('number').as('number'))
    .where('machine', '=', machine)
    .where('stream', '=', stream)
    .executeTakeFirst();
  // Lines are sent in order, so the greatest number is enough to recognize a repetition.
  const fresh = lines.filter(({ number }) => number > Number(known?.number ?? -1));
  for (const { number, at, action, errorClass, message } of fresh) {
    await trx
      .insertInto('agent_logs')
      .values({ machine, stream, number, at, received_at: receivedAt, action, error_class: errorClass, message })
      .onConflict((conflict) => conflict.columns(['machine', 'stream', 'number']).doNothing())
      .execute();
  }
  await insertEvents(trx, events(fresh));
  await limitLines(trx, machine);
  return fresh.length;
}

async function limitLines(trx: Writer, machine: string): Promise<void> {
  const oldest = await trx
    .selectFrom('agent_logs')
    .select('received_at')
    .where('machine', '=', machine)
    .orderBy('received_at', 'desc')
    .offset(MAX_AGENT_LOG_LINES)
    .limit(1)
    .executeTakeFirst();
  if (!oldest) return;
  await trx
    .deleteFrom('agent_logs')
    .where('machine', '=', machine)
    .where('received_at', '<=', oldest.received_at)
    .execute();
}

async function readLines(db: Reader, query: AgentLogQuery): Promise<AgentLogLine[]> {
  const { machine, action, errorClass, errors = false, contains, since, limit } = query;
  let select = db
    .selectFrom('agent_logs')
    .select(['number', 'at', 'action', 'error_class', 'message'])
    .where('machine', '=', machine)
    .orderBy('received_at', 'desc')
    .orderBy('stream', 'desc')
    .orderBy('number', 'desc')
    .limit(limit);
  if (action !== undefined) select = select.where('action', '=', action);
  if (errorClass !== undefined) select = select.where('error_class', '=', errorClass);
  if (errors) select = select.where('error_class', 'is not', null);
  if (since !== undefined) select = select.where('at', '>=', since);
  if (contains !== undefined) select = select.where(sql<boolean>`instr(message, ${contains}) > 0`);
  const rows = await select.execute();
  return rows.reverse().map((row) => ({
    number: row.number,
    at: row.at,
    action: row.action as LogAction,
    errorClass: row.error_class as ErrorClass | null,
    message: row.message,
  }));
}

async function deleteLinesBefore(trx: Writer, before: Instant): Promise<number> {
  const { numDeletedRows } = await trx.deleteFrom('agent_logs').where('received_at', '<', before).executeTakeFirst();
  return Number(numDeletedRows);
}
