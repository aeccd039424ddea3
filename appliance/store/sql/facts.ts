import type { NewEvent } from '../../domain/event.ts';
import type { MachineId } from '../../domain/machine.ts';
import { KEPT_FACTS, type MachineFacts } from '../session-store.ts';
import { insertEvents } from './events.ts';
import { requireMachine } from './machines.ts';
import type { Reader, Writer } from './transaction.ts';

export async function writeFacts(trx: Writer, machine: MachineId, found: MachineFacts, event: NewEvent): Promise<void> {
  await requireMachine(trx, machine);
  const facts = JSON.stringify(found.facts);
  await trx
    .insertInto('facts')
    .values({ machine, at: found.at, facts })
    .onConflict((conflict) => conflict.columns(['machine', 'at']).doUpdateSet({ facts }))
    .execute();
  const oldest = (await readFacts(trx, machine))[KEPT_FACTS - 1];
  if (oldest) await trx.deleteFrom('facts').where('machine', '=', machine).where('at', '<', oldest.at).execute();
  await insertEvents(trx, [event]);
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
