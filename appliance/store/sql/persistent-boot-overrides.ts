import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { PersistentBootOverride } from '../bmc-store.ts';
import type { Reader, Writer } from './transaction.ts';

export async function readOverrides(db: Reader): Promise<PersistentBootOverride[]> {
  const rows = await db
    .selectFrom('persistent_boot_overrides')
    .selectAll()
    .orderBy('set_at')
    .orderBy('machine')
    .execute();
  return rows.map(({ machine, method, set_at: setAt }) => ({
    machine: mustParse(parseMachineId(machine)),
    method,
    setAt,
  }));
}

export async function writeOverride(trx: Writer, { machine, method, setAt }: PersistentBootOverride): Promise<void> {
  await trx
    .insertInto('persistent_boot_overrides')
    .values({ machine, method, set_at: setAt })
    .onConflict((conflict) => conflict.column('machine').doUpdateSet({ method, set_at: setAt }))
    .execute();
}

export async function deleteOverride(trx: Writer, machine: MachineId): Promise<void> {
  await trx.deleteFrom('persistent_boot_overrides').where('machine', '=', machine).execute();
}
