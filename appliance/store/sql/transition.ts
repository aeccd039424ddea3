import type { Instant } from '../../domain/instant.ts';
import type { Lifecycle } from '../../domain/lifecycle.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Transition } from '../store.ts';
import { insertAudit } from './audit.ts';
import { dropCredentials } from './bmc-credentials.ts';
import { dropClaims } from './claims.ts';
import { advance } from './counters.ts';
import { insertEffects } from './effects.ts';
import { insertEvents } from './events.ts';
import { closeIntents } from './intents.ts';
import { lifecycleColumns, refusedWrite, selectMachines, toMachine } from './machines.ts';
import type { Writer } from './transaction.ts';

export async function writeTransition(trx: Writer, transition: Transition): Promise<Machine> {
  const { machine, version, lifecycle, effects, events, audit } = transition;
  const revision = await advance(trx, 'revision');
  await writeLifecycle(trx, { id: machine, version, lifecycle }, revision);
  if (lifecycle.state === 'removed') await freeRemoved(trx, machine, lifecycle.since);
  await insertEffects(trx, effects, lifecycle.since);
  await insertEvents(trx, events);
  await insertAudit(trx, audit);
  return toMachine(await selectMachines(trx).where('machines.id', '=', machine).executeTakeFirstOrThrow());
}

export async function writeLifecycle(
  trx: Writer,
  change: { id: MachineId; version: number; lifecycle: Lifecycle },
  revision: number,
): Promise<void> {
  const { id, version, lifecycle } = change;
  let update = trx
    .updateTable('machines')
    .set({ ...lifecycleColumns(lifecycle), version: version + 1, revision })
    .where('id', '=', id)
    .where('version', '=', version);
  // What a removed machine held may belong to another by now.
  if (lifecycle.state !== 'removed') update = update.where('state', '<>', 'removed');
  const { numUpdatedRows } = await update.executeTakeFirst();
  if (numUpdatedRows !== 1n) throw await refusedWrite(trx, id, version);
}

/** Name, MACs and addresses of a removed machine are free again, nothing stays armed for it, and its secrets are gone. */
export async function freeRemoved(trx: Writer, machine: MachineId, at: Instant): Promise<void> {
  await dropClaims(trx, [machine]);
  await closeIntents(trx, machine, at);
  await dropCredentials(trx, machine);
}
