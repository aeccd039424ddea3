import type { Instant } from '../../domain/instant.ts';
import type { Lifecycle } from '../../domain/lifecycle.ts';
import type { MachineId } from '../../domain/machine.ts';
import { dropCredentials } from './bmc-credentials.ts';
import { dropClaims } from './claims.ts';
import { revokeIdentity } from './enrollment-tokens.ts';
import { closeIntents } from './intents.ts';
import { lifecycleColumns, refusedWrite } from './machines.ts';
import type { MachineTable } from './schema.ts';
import type { Writer } from './transaction.ts';

export async function writeLifecycle(
  trx: Writer,
  change: { id: MachineId; version: number; lifecycle: Lifecycle },
  revision: number,
  also: Partial<Pick<MachineTable, 'health' | 'intent' | 'hardware' | 'allocation'>> = {},
): Promise<void> {
  const { id, version, lifecycle } = change;
  // Heartbeats of a removed machine do not count.
  const health = lifecycle.state === 'removed' ? { health: 'unknown' as const } : {};
  let update = trx
    .updateTable('machines')
    .set({ ...lifecycleColumns(lifecycle), ...also, ...health, version: version + 1, revision })
    .where('id', '=', id)
    .where('version', '=', version);
  // The claims of a removed machine may belong to another one now.
  if (lifecycle.state !== 'removed') update = update.where('state', '<>', 'removed');
  const { numUpdatedRows } = await update.executeTakeFirst();
  if (numUpdatedRows !== 1n) throw await refusedWrite(trx, id, version);
}

/**
 * Frees the name, MACs and addresses of a removed machine, revokes its intents, deletes its secrets, and revokes its
 * certificates and tokens.
 */
export async function freeRemoved(trx: Writer, machine: MachineId, at: Instant): Promise<void> {
  await dropClaims(trx, [machine]);
  await closeIntents(trx, machine, at);
  await dropCredentials(trx, machine);
  const origin = { actor: 'appliance', correlationId: null };
  await revokeIdentity(trx, machine, { at, because: 'the node is removed', origin });
}
