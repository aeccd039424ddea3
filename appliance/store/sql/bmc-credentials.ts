import type { Selectable } from 'kysely';
import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry } from '../../domain/event.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { SealedText } from '../../domain/sealed-text.ts';
import type { HeldCredentials, SealedCredentials } from '../bmc-store.ts';
import { insertAudit } from './audit.ts';
import { requireMachine } from './machines.ts';
import type { BmcCredentialTable } from './schema.ts';
import type { Reader, Writer } from './transaction.ts';

type Slot = BmcCredentialTable['slot'];

export async function readCredentials(db: Reader, machine: MachineId): Promise<HeldCredentials> {
  return toHeld(await db.selectFrom('bmc_credentials').selectAll().where('machine', '=', machine).execute());
}

export async function readAllCredentials(db: Reader): Promise<{ machine: MachineId; held: HeldCredentials }[]> {
  const rows = await db.selectFrom('bmc_credentials').selectAll().orderBy('machine').execute();
  const byMachine = Map.groupBy(rows, ({ machine }) => machine);
  return Array.from(byMachine, ([id, held]) => ({ machine: mustParse(parseMachineId(id)), held: toHeld(held) }));
}

export async function writeCredentials(
  trx: Writer,
  machine: MachineId,
  slot: Slot,
  credentials: SealedCredentials,
  audit: NewAuditEntry,
): Promise<void> {
  const { hostname, state } = await requireMachine(trx, machine);
  if (state === 'removed') throw new ColdironError('conflict', `${hostname} is removed and cannot be changed`);
  await deleteSlots(trx, machine, slot === 'current' ? ['current', 'pending'] : ['pending']);
  await trx
    .insertInto('bmc_credentials')
    .values({ machine, slot, ...columns(credentials) })
    .execute();
  await insertAudit(trx, [audit]);
}

export async function confirmPending(trx: Writer, machine: MachineId, audit: NewAuditEntry): Promise<boolean> {
  const { pending } = await readCredentials(trx, machine);
  if (!pending) return false;
  await writeCredentials(trx, machine, 'current', pending, audit);
  return true;
}

export async function dropPending(trx: Writer, machine: MachineId, audit: NewAuditEntry): Promise<boolean> {
  if ((await deleteSlots(trx, machine, ['pending'])) === 0n) return false;
  await insertAudit(trx, [audit]);
  return true;
}

export async function resealCredentials(
  trx: Writer,
  machine: MachineId,
  before: HeldCredentials,
  after: HeldCredentials,
): Promise<void> {
  for (const slot of ['current', 'pending'] as const) {
    const [old, resealed] = [before[slot], after[slot]];
    if (!old || !resealed) continue;
    await trx
      .updateTable('bmc_credentials')
      .set({ password: resealed.password, key: resealed.key })
      .where('machine', '=', machine)
      .where('slot', '=', slot)
      .where('password', '=', old.password)
      .execute();
  }
}

/** The secrets of a removed machine are deleted: it is never used again. */
export const dropCredentials = (trx: Writer, machine: MachineId): Promise<bigint> =>
  deleteSlots(trx, machine, ['current', 'pending']);

async function deleteSlots(trx: Writer, machine: MachineId, slots: readonly Slot[]): Promise<bigint> {
  const { numDeletedRows } = await trx
    .deleteFrom('bmc_credentials')
    .where('machine', '=', machine)
    .where('slot', 'in', slots)
    .executeTakeFirst();
  return numDeletedRows;
}

const columns = ({ username, password, key, setAt }: SealedCredentials) => ({ username, password, key, set_at: setAt });

function toHeld(rows: readonly Selectable<BmcCredentialTable>[]): HeldCredentials {
  const inSlot = (slot: Slot): SealedCredentials | null => {
    const row = rows.find((each) => each.slot === slot);
    return row ? toCredentials(row) : null;
  };
  return { current: inSlot('current'), pending: inSlot('pending') };
}

/** The sealed texts are cast: only texts that the vault sealed are written. */
const toCredentials = (row: Selectable<BmcCredentialTable>): SealedCredentials => ({
  username: row.username,
  password: row.password as SealedText,
  key: row.key as SealedText | null,
  setAt: row.set_at,
});
