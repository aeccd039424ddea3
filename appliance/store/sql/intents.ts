import { ColdironError } from '../../domain/errors.ts';
import type { NewAuditEntry, NewEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ArmedIntent, IntentId } from '../../domain/intent.ts';
import { type MachineId, parseMachineId } from '../../domain/machine.ts';
import { mustParse } from '../../domain/parsed.ts';
import type { NewTicket } from '../session-store.ts';
import { insertAudit } from './audit.ts';
import { insertEvents } from './events.ts';
import { toIntentRow } from './intent-rows.ts';
import { requireMachine, touchMachine } from './machines.ts';
import { writeTicket } from './sessions.ts';
import type { Writer } from './transaction.ts';

export async function armIntent(
  trx: Writer,
  intent: ArmedIntent,
  event: NewEvent,
  audit: NewAuditEntry,
): Promise<void> {
  const { hostname, state } = await requireMachine(trx, intent.machine);
  if (state === 'removed') throw new ColdironError('conflict', `${hostname} is removed: nothing can be armed for it`);
  await closeIntents(trx, intent.machine, intent.armedAt);
  await trx.insertInto('intents').values(toIntentRow(intent)).execute();
  await touchMachine(trx, intent.machine, { intent: intent.id });
  await insertEvents(trx, [event]);
  await insertAudit(trx, [audit]);
}

/** One conditional update decides: of any number of callers, one changes the row. */
export async function consumeIntent(
  trx: Writer,
  { id, now, ticket }: { readonly id: IntentId; readonly now: Instant; readonly ticket: NewTicket | null },
  event: NewEvent,
): Promise<boolean> {
  const consumed = await trx
    .updateTable('intents')
    .set({ consumed_at: now })
    .where('id', '=', id)
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now)
    .returning('machine')
    .executeTakeFirst();
  if (!consumed) return false;
  await touchMachine(trx, mustParse(parseMachineId(consumed.machine)), {});
  if (ticket) await writeTicket(trx, ticket);
  await insertEvents(trx, [event]);
  return true;
}

/** Without an open intent nothing is written, the event neither: revoking twice comes to the same. */
export async function revokeIntents(trx: Writer, machine: MachineId, now: Instant, event: NewEvent): Promise<number> {
  const revoked = await closeIntents(trx, machine, now);
  if (revoked === 0) return 0;
  await touchMachine(trx, machine, {});
  await insertEvents(trx, [event]);
  return revoked;
}

/** Leaves the machine's version alone: the caller changes it anyway. Returns how many were open. */
export async function closeIntents(trx: Writer, machine: MachineId, now: Instant): Promise<number> {
  const { numUpdatedRows } = await trx
    .updateTable('intents')
    .set({ revoked_at: now })
    .where('machine', '=', machine)
    .where('consumed_at', 'is', null)
    .where('revoked_at', 'is', null)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
