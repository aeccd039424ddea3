// The record of an erasure: made when a release succeeds, verified by samples in a later session, void when a session begins that
// may write to the disks. Samples that hold data quarantine the node.

import {
  type ErasedDisk,
  type ErasureCheck,
  type ErasureRecord,
  erasureVerdict,
  type SampledDisk,
  type SampledState,
  writesDisks,
} from '../../domain/erasure.ts';
import { newEvent } from '../../domain/event.ts';
import { type Instant, instantText } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session } from '../../domain/session.ts';
import type { Change, Write } from '../../store/change.ts';
import { APPLIANCE } from '../record.ts';
import { possibleEvents } from '../step.ts';
import { type CommandContext, type Decision, emptyChange, NOTHING } from './decision.ts';
import { moved } from './move.ts';

/** Committed with the release. */
export function erasureRecorded(
  machine: Machine,
  session: Session,
  disks: readonly ErasedDisk[],
  at: Instant,
): Write[] {
  const identity = session.identity?.level ?? null;
  const erasure = { at, session: session.id, identity, disks, check: null, overwrittenAt: null };
  return [putErasure(machine, erasure)];
}

/** Committed with the opening of a session. */
export function erasureOverwritten(machine: Machine, { mode }: Pick<Session, 'mode'>, at: Instant): Write[] {
  const { erasure } = machine.hardware;
  return erasure && erasure.overwrittenAt === null && writesDisks(mode)
    ? [putErasure(machine, { ...erasure, overwrittenAt: at })]
    : [];
}

const putErasure = ({ hardware }: Machine, erasure: ErasureRecord): Write => ({
  kind: 'put-hardware',
  hardware: { ...hardware, erasure },
});

/** `ordered`: the samples of the session's order. Nothing, when they are of an erasure that is not the recorded one. */
export function erasureChecked(
  machine: Machine,
  session: Session,
  sampled: { readonly ordered: readonly SampledDisk[]; readonly found: readonly SampledState[] },
  context: CommandContext,
): Decision {
  const { erasure } = machine.hardware;
  if (!erasure || sampled.ordered.length === 0 || erasure.at > session.ticketMadeAt) return NOTHING;
  const at = context.now;
  const { mode } = session;
  const verdict = erasureVerdict(sampled.ordered, sampled.found);
  const check: ErasureCheck = {
    ...{ at, session: session.id, identity: session.identity?.level ?? null, mode },
    ...verdict,
  };
  const writes = [putErasure(machine, { ...erasure, check })];
  const events = [checkEvent(machine, session, erasure, check)];
  if (check.result !== 'not-empty' || !possibleEvents(machine.lifecycle).includes('quarantine')) {
    return { outcome: 'change', change: { ...emptyChange(machine, at), writes, events } };
  }
  const reason = notErasedText(erasure, check);
  const end: Write = { kind: 'end-sessions', end: { how: 'failed', at, reason } };
  const origin = { actor: APPLIANCE, correlationId: session.id, note: reason };
  return moved(machine, { event: 'quarantine', origin, also: { writes: [...writes, end], events } }, context);
}

const checkEvent = (
  { id }: Machine,
  { id: correlationId, mode }: Session,
  erasure: ErasureRecord,
  { at, result, bytes, problems }: ErasureCheck,
): Change['events'][number] => {
  const happening = { at, actor: APPLIANCE, machine: id, correlationId };
  const data = { mode, bytes, disks: erasure.disks.length, erased_by: erasure.session };
  switch (result) {
    case 'empty':
      return newEvent(happening, 'hardware.erasure-verified', data);
    case 'incomplete':
      return newEvent(happening, 'hardware.erasure-unverified', { ...data, problems: [...problems] });
    case 'not-empty':
      return newEvent(happening, 'hardware.not-erased', { ...data, problems: [...problems] });
  }
};

/** The note of the quarantine, and what the session is told. */
export const notErasedText = (erasure: ErasureRecord, { problems }: Pick<ErasureCheck, 'problems'>): string =>
  `erase-not-verified: ${problems.join('; ')}, although it was reported as erased at ${instantText(erasure.at)}`;
