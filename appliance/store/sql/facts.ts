import type { MachineId } from '../../domain/machine.ts';
import { KEPT_FACTS, type MachineFacts } from '../session-store.ts';
import type { Reader, Writer } from './transaction.ts';

export async function writeFacts(trx: Writer, machine: MachineId, found: MachineFacts): Promise<void> {
  const facts = JSON.stringify(found.facts);
  await trx
    .insertInto('facts')
    .values({ machine, at: found.at, facts })
    .onConflict((conflict) => conflict.columns(['machine', 'at']).doUpdateSet({ facts }))
    .execute();
  const oldest = (await readFacts(trx, machine))[KEPT_FACTS - 1];
  if (oldest) await trx.deleteFrom('facts').where('machine', '=', machine).where('at', '<', oldest.at).execute();
}

export async function readFacts(db: Reader, machine: MachineId): Promise<MachineFacts[]> {
  const rows = await db
    .selectFrom('facts')
    .select(['at', 'facts'])
    .where('machine', '=', machine)
    .orderBy('at', 'desc')
    .limit(KEPT_FACTS)
    .execute();
  return rows.map(({ at, facts }) => ({ at, facts: JSON.parse(facts) }));
}
