import type { Selectable } from 'kysely';
import type { Allocation } from '../../domain/allocation.ts';
import { ColdironError } from '../../domain/errors.ts';
import { type HardwareRecord, NO_HARDWARE } from '../../domain/hardware-identity.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Lifecycle } from '../../domain/lifecycle.ts';
import { type Machine, type MachineId, type MachineSpec, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import { completeSpec } from '../../domain/stored-inventory.ts';
import { type JoinedIntent, joinedIntentColumns, toJoinedIntent } from './intent-rows.ts';
import type { MachineTable } from './schema.ts';
import type { Reader } from './transaction.ts';

/** Machines with their newest intent, ready for `toMachine`. */
export const selectMachines = (db: Reader) =>
  db
    .selectFrom('machines')
    .leftJoin('intents', 'intents.id', 'machines.intent')
    .selectAll('machines')
    .select(joinedIntentColumns);

/**
 * The JSON columns are cast, not validated: they were validated before they were written, and ten thousand of them are read
 * at every start.
 */
export function toMachine(row: Selectable<MachineTable> & JoinedIntent): Machine {
  const id = mustParse(parseMachineId(row.id));
  return {
    id,
    spec: completeSpec(JSON.parse(row.spec)),
    source: row.source,
    lifecycle: JSON.parse(row.lifecycle) as Lifecycle,
    health: row.health,
    hardware: row.hardware === null ? NO_HARDWARE : (JSON.parse(row.hardware) as HardwareRecord),
    intent: toJoinedIntent(row, id),
    ...(row.allocation !== null && { allocation: JSON.parse(row.allocation) as Allocation }),
    version: row.version,
    revision: row.revision,
  };
}

export const specColumns = (spec: MachineSpec) => ({ hostname: spec.hostname, spec: JSON.stringify(spec) });

export const lifecycleColumns = (lifecycle: Lifecycle) => ({
  state: lifecycle.state,
  deadline: lifecycle.deadline,
  lifecycle: JSON.stringify(lifecycle),
});

export async function readMachine(db: Reader, id: MachineId): Promise<Machine | null> {
  const row = await selectMachines(db).where('machines.id', '=', id).executeTakeFirst();
  return row ? toMachine(row) : null;
}

export async function readDueDeadlines(db: Reader, now: Instant, limit: number): Promise<Machine[]> {
  const rows = await selectMachines(db)
    .where('machines.deadline', '<=', now)
    .orderBy('machines.deadline')
    .orderBy('machines.id')
    .limit(limit)
    .execute();
  return rows.map(toMachine);
}

export async function readNextDeadline(db: Reader): Promise<Instant | null> {
  const row = await db
    .selectFrom('machines')
    .select((eb) => eb.fn.min('deadline').as('next'))
    .executeTakeFirst();
  return row?.next ?? null;
}

export async function requireMachine(
  db: Reader,
  id: MachineId,
): Promise<Pick<MachineTable, 'hostname' | 'state' | 'health' | 'version'>> {
  const row = await db
    .selectFrom('machines')
    .select(['hostname', 'state', 'health', 'version'])
    .where('id', '=', id)
    .executeTakeFirst();
  if (!row) throw new ColdironError('not_found', `there is no node with the id ${id}`);
  return row;
}

/** The reason why a write with this version matched no row. */
export async function refusedWrite(db: Reader, id: MachineId, version: number): Promise<ColdironError> {
  const { hostname, version: current } = await requireMachine(db, id);
  return current === version
    ? new ColdironError('conflict', `${hostname} is removed and cannot be changed`)
    : new ColdironError('version_conflict', `${hostname} has changed: it is at version ${current}, not ${version}`);
}
