import type { Selectable } from 'kysely';
import type { Json } from '../../domain/event.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { Heartbeat } from '../task-store.ts';
import { inChunks } from './chunks.ts';
import type { Database } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

export const writeHeartbeats = (trx: Writer, heartbeats: readonly Heartbeat[]): Promise<void> =>
  inChunks(
    heartbeats.map(({ machine, at, report }) => ({ machine, at, report: JSON.stringify(report) })),
    (chunk) =>
      trx
        .insertInto('heartbeats')
        .values(chunk)
        .onConflict((conflict) =>
          conflict
            .column('machine')
            .doUpdateSet((eb) => ({ at: eb.ref('excluded.at'), report: eb.ref('excluded.report') })),
        )
        .execute(),
  );

export async function readHeartbeats(db: Reader): Promise<Heartbeat[]> {
  return (await db.selectFrom('heartbeats').selectAll().orderBy('machine').execute()).map(toHeartbeat);
}

export async function readHeartbeatOf(db: Reader, machine: MachineId): Promise<Heartbeat | null> {
  const row = await db.selectFrom('heartbeats').selectAll().where('machine', '=', machine).executeTakeFirst();
  return row ? toHeartbeat(row) : null;
}

const toHeartbeat = (row: Selectable<Database['heartbeats']>): Heartbeat => ({
  machine: mustParse(parseMachineId(row.machine)),
  at: row.at,
  report: JSON.parse(row.report) as Json,
});
