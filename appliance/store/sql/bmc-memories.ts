import type { NewAuditEntry } from '../../domain/event.ts';
import { type Ipv4, parseIpv4 } from '../../domain/ipv4.ts';
import type { MachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import { type BmcPlace, type BmcQuirk, type BootOutcome, REMEMBERED_BOOTS } from '../bmc-store.ts';
import { insertAudit } from './audit.ts';
import type { Reader, Writer } from './transaction.ts';

export async function readPlaces(db: Reader): Promise<BmcPlace[]> {
  const rows = await db.selectFrom('bmc_places').selectAll().orderBy('address').execute();
  return rows.map(({ address, ...rest }) => ({ address: mustParse(parseIpv4(address)), ...rest }));
}

export async function writeSuite(trx: Writer, address: Ipv4, suite: number): Promise<void> {
  await trx
    .insertInto('bmc_places')
    .values({ address, suite, certificate: null })
    .onConflict((conflict) => conflict.column('address').doUpdateSet({ suite }))
    .execute();
}

export async function pinCertificate(trx: Writer, address: Ipv4, certificate: string): Promise<boolean> {
  const { certificate: pinned } = await trx
    .insertInto('bmc_places')
    .values({ address, certificate, suite: null })
    .onConflict((conflict) =>
      conflict.column('address').doUpdateSet((eb) => ({
        certificate: eb.fn.coalesce('bmc_places.certificate', 'excluded.certificate'),
      })),
    )
    .returning('certificate')
    .executeTakeFirstOrThrow();
  return pinned === certificate;
}

export async function forgetCertificate(trx: Writer, address: Ipv4, audit: NewAuditEntry): Promise<boolean> {
  const { numUpdatedRows } = await trx
    .updateTable('bmc_places')
    .set({ certificate: null })
    .where('address', '=', address)
    .where('certificate', 'is not', null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return false;
  await insertAudit(trx, [audit]);
  return true;
}

export async function readQuirks(db: Reader): Promise<BmcQuirk[]> {
  const rows = await db
    .selectFrom('bmc_quirks')
    .selectAll()
    .orderBy('vendor')
    .orderBy('product')
    .orderBy('firmware')
    .orderBy('method')
    .execute();
  return rows.map(({ last_at: lastAt, ...rest }) => ({ ...rest, lastAt }));
}

export async function countBoot(trx: Writer, outcome: BootOutcome): Promise<void> {
  const { vendor, product, firmware, method, obeyed, at } = outcome;
  const [worked, ignored] = obeyed ? [1, 0] : [0, 1];
  await trx
    .insertInto('bmc_quirks')
    .values({ vendor, product, firmware, method, worked, ignored, last_at: at })
    .onConflict((conflict) =>
      conflict.columns(['vendor', 'product', 'firmware', 'method']).doUpdateSet((eb) => ({
        worked: eb('bmc_quirks.worked', '+', worked),
        ignored: eb('bmc_quirks.ignored', '+', ignored),
        last_at: at,
      })),
    )
    .execute();
}

export async function readBootTimes(db: Reader, machine: MachineId): Promise<number[]> {
  const row = await db.selectFrom('boot_times').select('took').where('machine', '=', machine).executeTakeFirst();
  return row ? (JSON.parse(row.took) as number[]) : [];
}

export async function addBootTime(trx: Writer, machine: MachineId, milliseconds: number): Promise<void> {
  const took = JSON.stringify([...(await readBootTimes(trx, machine)), milliseconds].slice(-REMEMBERED_BOOTS));
  await trx
    .insertInto('boot_times')
    .values({ machine, took })
    .onConflict((conflict) => conflict.column('machine').doUpdateSet({ took }))
    .execute();
}
