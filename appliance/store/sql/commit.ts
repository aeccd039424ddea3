// Writes a change in one transaction: the command's record, the writes in their order, the machine's row once, then effects,
// events and audit.

import { ColdironError } from '../../domain/errors.ts';
import type { NewEvent } from '../../domain/event.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { Change, Committed, Write } from '../change.ts';
import { writeAllocation } from './allocations.ts';
import { insertAudit } from './audit.ts';
import { insertCommand, readCommand } from './commands.ts';
import { advance } from './counters.ts';
import { insertEffects, settleEffect } from './effects.ts';
import { issueToken, redeemToken, renewCertificate, repeatRedemption, revokeIdentity } from './enrollment-tokens.ts';
import { insertEvents } from './events.ts';
import { writeFacts } from './facts.ts';
import { armIntent, closeIntents, consumeIntent } from './intents.ts';
import { readMachine, refusedWrite, requireMachine } from './machines.ts';
import type { MachineTable } from './schema.ts';
import { markMedium, takeMedium, writeMedium } from './session-media.ts';
import {
  endSession,
  endSessionsOf,
  markStalled,
  openSession,
  reopenSession,
  takeFile,
  writeStep,
  writeTicket,
} from './sessions.ts';
import { cancelTasks } from './tasks.ts';
import type { Writer } from './transaction.ts';
import { freeRemoved, writeLifecycle } from './transition.ts';

/** Thrown to roll back the transaction; `commit` converts it to the outcome `refused`. */
export class WriteRefused extends Error {
  readonly write: Write['kind'];

  constructor(write: Write['kind'], reason: string) {
    super(reason);
    this.write = write;
  }
}

type Row = Pick<MachineTable, 'hostname' | 'state' | 'health' | 'version'>;

/** Collects the update of the machine's row (null: none, and its version stays) and the events of the writes. */
interface Collected {
  row: Partial<Pick<MachineTable, 'health' | 'intent' | 'hardware' | 'allocation'>> | null;
  readonly events: NewEvent[];
}

export async function writeChange(trx: Writer, change: Change): Promise<Exclude<Committed, { outcome: 'refused' }>> {
  const { command, machine: id, at } = change;
  const recorded = command && (await readCommand(trx, command.id));
  if (recorded) {
    if (recorded.digest === command?.digest) return { outcome: 'repeated', machine: recorded.machine };
    throw new ColdironError('conflict', `the command id ${command?.id} was used for another command`);
  }
  const known = await requireMachine(trx, id);
  if (change.version !== null && known.version !== change.version) throw await refusedWrite(trx, id, change.version);
  const collected: Collected = { row: null, events: [] };
  for (const write of change.writes) await apply(trx, id, known, write, collected);
  await writeRow(trx, change, known, collected);
  await insertEffects(trx, change.effects, at);
  const events = await insertEvents(trx, [...collected.events, ...change.events]);
  await insertAudit(trx, change.audit);
  const machine = await readMachine(trx, id);
  if (!machine) throw new ColdironError('not_found', `there is no node with the id ${id}`);
  if (command) await insertCommand(trx, command, machine, at);
  return { outcome: 'committed', machine, events };
}

async function writeRow(trx: Writer, change: Change, known: Row, { row }: Collected): Promise<void> {
  const { machine: id, lifecycle } = change;
  if (lifecycle === null && row === null) return;
  const revision = await advance(trx, 'revision');
  if (lifecycle !== null) {
    await writeLifecycle(trx, { id, version: known.version, lifecycle }, revision, row ?? {});
    if (lifecycle.state === 'removed') await freeRemoved(trx, id, change.at);
    return;
  }
  // The version is checked again: on an engine with several writers the row may have changed since it was read.
  const { numUpdatedRows } = await trx
    .updateTable('machines')
    .set({ ...row, revision, version: known.version + 1 })
    .where('id', '=', id)
    .where('version', '=', known.version)
    .executeTakeFirst();
  if (numUpdatedRows !== 1n) throw await refusedWrite(trx, id, known.version);
}

async function apply(trx: Writer, machine: MachineId, known: Row, write: Write, collected: Collected): Promise<void> {
  const touch = (columns: Collected['row'] = {}): void => {
    collected.row = { ...collected.row, ...columns };
  };
  const must = (holds: boolean, reason: string): void => {
    if (!holds) throw new WriteRefused(write.kind, reason);
  };
  const mustNotBeRemoved = (what: string): void => {
    if (known.state === 'removed') throw new ColdironError('conflict', `${known.hostname} is removed: ${what}`);
  };
  switch (write.kind) {
    case 'arm-intent':
      mustNotBeRemoved('nothing can be armed for it');
      await armIntent(trx, write.intent);
      return touch({ intent: write.intent.id });
    case 'revoke-intents':
      if ((await closeIntents(trx, machine, write.at)) > 0) touch();
      return;
    case 'consume-intent':
      must(await consumeIntent(trx, machine, write.intent, write.at), 'the intent is used, revoked or expired');
      return touch();
    case 'put-ticket':
      return writeTicket(trx, write.ticket);
    case 'open-session':
      return must(await openSession(trx, write.opening), 'the ticket is used, ended or expired');
    case 'reopen-session':
      return must(await reopenSession(trx, write.reopening), 'another client opened the session');
    case 'report-step':
      return must(await writeStep(trx, write.report), 'the report was received before, or its session has ended');
    case 'mark-stalled':
      return must(await markStalled(trx, write), 'the step moves, or its session has ended');
    case 'end-session':
      return must(await endSession(trx, write.session, write.end), 'the session is not open');
    case 'end-sessions':
      return endSessionsOf(trx, machine, write.end);
    case 'take-session-file':
      return must(await takeFile(trx, write.session, write.name, write.at), `${write.name} was already delivered`);
    case 'put-medium':
      return writeMedium(trx, write.medium);
    case 'mark-medium':
      return must(
        await markMedium(trx, machine, write.salt, write.mark, write.at),
        `the medium is ${write.mark} already, or was replaced`,
      );
    case 'use-medium':
      return must(await takeMedium(trx, machine, write.salt, write.session), 'the secret of the medium was used');
    case 'put-facts':
      return writeFacts(trx, machine, write.facts);
    case 'put-allocation':
      mustNotBeRemoved('it cannot be allocated');
      await writeAllocation(trx, machine, write.allocation);
      return touch({ allocation: write.isOpen ? JSON.stringify(write.allocation) : null });
    case 'put-hardware':
      return touch({ hardware: JSON.stringify(write.hardware) });
    case 'set-health':
      must(known.health !== write.health, `its health is already ${write.health}`);
      return touch({ health: write.health });
    case 'issue-token':
      mustNotBeRemoved('it cannot get a token');
      return must(await issueToken(trx, write.token, write.replaces), 'another token is open');
    case 'redeem-token':
      return must(await redeemToken(trx, write.redemption), 'the token is not valid');
    case 'repeat-redemption':
      return must(await repeatRedemption(trx, write.redemption, write.since), 'the redemption cannot be repeated');
    case 'renew-certificate':
      must(known.state !== 'removed', 'the node is removed');
      return renewCertificate(trx, write.renewal);
    case 'revoke-identity': {
      const { event, tokenEvent, healthEvent } = write.revocation;
      const { apiTokens, credentials } = await revokeIdentity(trx, machine, write.revocation);
      if (credentials > 0) collected.events.push(event);
      if (apiTokens > 0) collected.events.push(tokenEvent);
      if (known.health === 'unknown') return;
      collected.events.push(healthEvent);
      return touch({ health: 'unknown' });
    }
    case 'cancel-tasks':
      collected.events.push(...(await cancelTasks(trx, machine, write.cancellation)));
      return;
    case 'finish-effect':
      return must(await settleEffect(trx, write.effect, { state: 'done' }), NOT_RUNNING);
    case 'retry-effect': {
      const { notBefore, error } = write;
      const changes = { state: 'pending', not_before: notBefore, last_error: error } as const;
      return must(await settleEffect(trx, write.effect, changes), NOT_RUNNING);
    }
    case 'fail-effect':
      return must(await settleEffect(trx, write.effect, { state: 'failed', last_error: write.error }), NOT_RUNNING);
  }
}

const NOT_RUNNING = 'the effect is not running';
