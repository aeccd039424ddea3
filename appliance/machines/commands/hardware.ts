// The hardware that a node is bound to: recorded by commissioning, contradicted by another machine, accepted by a person.

import { newEvent, type Origin } from '../../domain/event.ts';
import {
  type BoundHardware,
  bindHardware,
  boundText,
  differencesText,
  type HardwareDifference,
  type HardwareRecord,
  hardwareDifferences,
  type ShownHardware,
} from '../../domain/hardware-identity.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { SessionMode } from '../../domain/session.ts';
import type { Change, Write } from '../../store/change.ts';
import { APPLIANCE } from '../record.ts';
import { possibleEvents } from '../step.ts';
import { type CommandContext, type Decision, emptyChange, NOTHING, refused } from './decision.ts';
import { moved } from './move.ts';

/** The writes and events that bind a machine to the hardware of its commissioning. */
export function boundAtCommissioning(
  machine: Machine,
  shown: ShownHardware,
  at: Instant,
): { readonly writes: readonly Write[]; readonly events: Change['events'] } {
  const { hardware, spec } = machine;
  const found = bindHardware(shown, spec.tpm, hardware.bound, at);
  // Measurements that a person accepted stay until a person accepts others.
  const pcrs = hardware.bound?.tpm?.pcrs ?? found.tpm?.pcrs ?? null;
  const bound = { ...found, tpm: found.tpm && { ...found.tpm, pcrs } };
  const data = {
    identity: boundText(bound),
    uuid: bound.uuid,
    serial: bound.serial,
    macs: [...bound.macs],
    tpm: [...(bound.tpm?.eks ?? [])],
  };
  const context = { at, actor: APPLIANCE, machine: machine.id, correlationId: null };
  return {
    writes: [{ kind: 'put-hardware', hardware: { ...hardware, bound } }],
    events: [newEvent(context, 'hardware.bound', data)],
  };
}

/** Keeps what the machine showed, so that a person can accept it; the machine stays in its state. */
export const differingHardware = (machine: Machine, shown: ShownHardware, at: Instant): Change => ({
  ...emptyChange(machine, at),
  version: null,
  writes: [{ kind: 'put-hardware', hardware: withRefused(machine, shown, at) }],
});

export interface DifferingHardware {
  readonly shown: ShownHardware;
  readonly mode: SessionMode;
  readonly address: string | null;
  readonly differences: readonly HardwareDifference[];
  readonly reason: string;
  readonly origin: Origin;
}

/** Once: a machine that is quarantined already, or cannot be, keeps its state. */
export function quarantinedForHardware(
  machine: Machine,
  { shown, mode, address, differences, reason, origin }: DifferingHardware,
  context: CommandContext,
): Decision {
  if (!possibleEvents(machine.lifecycle).includes('quarantine')) return NOTHING;
  const at = context.now;
  const happening = { at, actor: APPLIANCE, machine: machine.id, correlationId: origin.correlationId };
  const data = { mode, address, differences: differences.map((each) => ({ ...each })) };
  const writes: Write[] = [
    { kind: 'put-hardware', hardware: withoutMedium(withRefused(machine, shown, at), shown) },
    { kind: 'end-sessions', end: { how: 'cancelled', at, reason } },
  ];
  const events = [newEvent(happening, 'hardware.differs', data)];
  return moved(
    machine,
    { event: 'quarantine', origin: { ...origin, note: reason }, also: { writes, events } },
    context,
  );
}

/** Two machines use the identity of the node. Its credentials are of no use while it is quarantined. */
export function quarantinedAsTwin(machine: Machine, reason: string, origin: Origin, context: CommandContext): Decision {
  if (!possibleEvents(machine.lifecycle).includes('quarantine')) return NOTHING;
  const at = context.now;
  const happening = { at, actor: APPLIANCE, machine: machine.id, correlationId: origin.correlationId };
  const also = {
    writes: [{ kind: 'end-sessions', end: { how: 'failed', at, reason } } as const],
    events: [newEvent(happening, 'hardware.twin', { reason })],
  };
  return moved(machine, { event: 'quarantine', origin: { ...origin, note: reason }, also }, context);
}

/** Other hardware has another BMC, or a drive that works no more: what the old one has shown does not count for it. */
const withoutMedium = (hardware: HardwareRecord, { medium }: ShownHardware): HardwareRecord => {
  if (hardware.refused === null || medium === true) return hardware;
  const { medium: _, ...refused } = hardware.refused;
  return { ...hardware, refused };
};

const withRefused = (machine: Machine, shown: ShownHardware, at: Instant): HardwareRecord => {
  const { boundAt: _, ...found } = bindHardware(shown, machine.spec.tpm, machine.hardware.bound, at);
  return { ...machine.hardware, refused: { ...found, at } };
};

/**
 * A person accepts the hardware that was refused, or the TPM that was seen first. A quarantine for that hardware ends with
 * it.
 */
export function rebind(machine: Machine, origin: Origin, context: CommandContext): Decision {
  const { hardware, spec, lifecycle } = machine;
  const at = context.now;
  const accepted = acceptedHardware(hardware, at);
  if (accepted === null) {
    const message =
      hardware.bound === null
        ? `${spec.hostname} has no recorded hardware to change: commission it`
        : `${spec.hostname} has shown no other hardware than the recorded one`;
    return refused('conflict', message);
  }
  const before = boundText(hardware.bound);
  const after = boundText(accepted);
  const writes: Write[] = [{ kind: 'put-hardware', hardware: { ...hardware, bound: accepted, refused: null } }];
  const { actor, correlationId } = origin;
  const happening = { at, actor, machine: machine.id, correlationId };
  const events = [newEvent(happening, 'hardware.rebound', { before, after })];
  const audit = [
    {
      ...{ at, actor, correlationId, action: 'node.rebind', target: `node:${spec.hostname}` },
      before: hardwareJson(hardware.bound),
      after: hardwareJson(accepted),
    },
  ];
  if (lifecycle.state === 'quarantined' && isOtherHardware(hardware)) {
    return moved(machine, { event: 'clear-quarantine', origin, also: { writes, events, audit } }, context);
  }
  return { outcome: 'change', change: { ...emptyChange(machine, at), writes, events, audit } };
}

/** Quarantined for it, and not for something else while its measurements changed as well. */
const isOtherHardware = ({ bound, refused: differing }: HardwareRecord): boolean =>
  differing !== null &&
  (bound === null ||
    lostMedium(bound, differing) ||
    hardwareDifferences(bound, { ...differing, tpmProblem: null }).length > 0);

const lostMedium = (bound: BoundHardware, { medium }: Pick<ShownHardware, 'medium'>): boolean =>
  bound.medium === true && medium !== true;

function acceptedHardware({ bound, refused: differing }: HardwareRecord, at: Instant): BoundHardware | null {
  if (differing !== null) {
    const { at: _, tpm, ...rest } = differing;
    return { ...rest, tpm: tpm && { ...tpm, trust: tpm.trust === 'nobody' ? 'accepted' : tpm.trust }, boundAt: at };
  }
  return bound?.tpm?.trust === 'nobody' ? { ...bound, tpm: { ...bound.tpm, trust: 'accepted' }, boundAt: at } : null;
}

const hardwareJson = (bound: BoundHardware | null) =>
  bound && {
    uuid: bound.uuid,
    serial: bound.serial,
    macs: [...bound.macs],
    tpm: bound.tpm && { eks: [...bound.tpm.eks], trust: bound.tpm.trust, pcrs: bound.tpm.pcrs },
  };

/** What `rebind` would accept, for people; null: nothing. */
export const pendingText = ({ bound, refused: differing }: HardwareRecord): string | null => {
  if (differing === null) return bound?.tpm?.trust === 'nobody' ? 'its TPM, which was seen once' : null;
  const shown = { ...differing, tpmProblem: null };
  return bound === null ? 'other hardware' : differencesOrPcrs(bound, shown);
};

function differencesOrPcrs(bound: BoundHardware, shown: ShownHardware): string {
  const text = differencesText(hardwareDifferences(bound, shown));
  if (text === '' && lostMedium(bound, shown)) return 'that it shows no medium of its BMC any more';
  return text === '' ? 'new measurements of its firmware and boot configuration' : text;
}
