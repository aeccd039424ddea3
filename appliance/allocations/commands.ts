// The commands on the allocation of a node, pure: each is a change of the node's record, committed like every other change.

import type { Allocation, AllocationId, AllocationSudo, UserName } from '../domain/allocation.ts';
import { ALLOCATION_STATES, allocationText, isOpen } from '../domain/allocation.ts';
import { type NewAuditEntry, newEvent, type Origin } from '../domain/event.ts';
import type { Machine } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import { type CommandContext, type Decision, emptyChange, NOTHING, refused } from '../machines/commands/decision.ts';
import type { Write } from '../store/change.ts';
import { type AllocationEvent, advanced } from './transitions.ts';

export interface AllocationRequest {
  readonly id: AllocationId;
  readonly user: UserName;
  readonly keySet: ObjectName | null;
  readonly sudo: AllocationSudo | null;
  readonly origin: Origin;
}

/** Null: the node can be allocated. */
export function whyNotFree({ lifecycle, health, allocation }: Machine): string | null {
  if (allocation) return `${allocationText(allocation)} holds it`;
  if (lifecycle.state !== 'active') return `it is ${lifecycle.state}`;
  return health === 'online' ? null : `its agent is ${health === 'silent' ? 'silent' : 'not heard yet'}`;
}

export function allocate(machine: Machine, request: AllocationRequest, { now }: CommandContext): Decision {
  const { id, user, keySet, sudo, origin } = request;
  const { hostname } = machine.spec;
  const why = whyNotFree(machine);
  if (why !== null) {
    return refused(
      machine.allocation ? 'node_in_use' : 'conflict',
      `${hostname} cannot be allocated: ${why}`,
      [],
      FREE_HINT,
    );
  }
  const allocation: Allocation = {
    ...{ id, user, keySet, sudo, state: 'requested', since: now, attempt: 0, reason: null },
    deadline: now + ALLOCATION_STATES.requested.limit,
    requestedAt: now,
    requestedBy: origin.actor,
  };
  return written(machine, null, allocation, 'request', origin, now);
}

const FREE_HINT = 'Choose another node, or any free node of a SKU: coldiron allocations request USER --sku SKU';

export interface AllocationMove {
  readonly id: AllocationId;
  readonly event: AllocationEvent;
  readonly reason: string | null;
  readonly origin: Origin;
}

/** `nothing` when the allocation is over or in another state: for callers that only report. */
export function moveAllocation(machine: Machine, move: AllocationMove, { now }: CommandContext): Decision {
  const { allocation } = machine;
  if (allocation?.id !== move.id) return NOTHING;
  const after = advanced(allocation, move.event, move.reason, now);
  return after ? written(machine, allocation, after, move.event, move.origin, now) : NOTHING;
}

/** The same for requests of people: everything but a change is an error, and a repetition changes nothing. */
export function requestRelease(
  machine: Machine,
  move: Omit<AllocationMove, 'event'>,
  context: CommandContext,
): Decision {
  const { allocation } = machine;
  if (allocation?.id !== move.id || allocation.state === 'releasing') return NOTHING;
  return moveAllocation(machine, { ...move, event: 'release' }, context);
}

export function cleanUp(machine: Machine, move: Omit<AllocationMove, 'event'>, context: CommandContext): Decision {
  const { allocation } = machine;
  if (allocation?.id !== move.id) return NOTHING;
  if (allocation.state !== 'release_failed') {
    return refused(
      'conflict',
      `${allocationText(allocation)} is not stale: only a release that failed can be cleaned up by hand`,
      [],
      `Release it first: coldiron allocations release ${allocation.id}`,
    );
  }
  return moveAllocation(machine, { ...move, event: 'clean-up' }, context);
}

/** Other keys for an open allocation; the node gets them with its next task. */
export function changeKeySet(
  machine: Machine,
  { id, keySet, origin }: Pick<AllocationRequest, 'id' | 'keySet' | 'origin'>,
  { now }: CommandContext,
): Decision {
  const { allocation } = machine;
  if (allocation?.id !== id) return NOTHING;
  if (allocation.keySet === keySet) return NOTHING;
  if (allocation.state === 'releasing' || allocation.state === 'release_failed') {
    return refused('conflict', `${allocationText(allocation)} is being released`);
  }
  return written(machine, allocation, { ...allocation, keySet }, 'keys', origin, now);
}

function written(
  machine: Machine,
  before: Allocation | null,
  after: Allocation,
  event: AllocationEvent | 'request' | 'keys',
  origin: Origin,
  at: Allocation['since'],
): Decision {
  const { actor, correlationId, note } = origin;
  const frame = { at, actor, machine: machine.id, correlationId };
  const data = {
    ...{ allocation: after.id, user: after.user, event, before: before?.state ?? null, after: after.state },
    reason: after.reason ?? note ?? null,
  };
  const isPerson = actor !== 'appliance' && !actor.startsWith('machine:');
  const audit: NewAuditEntry[] = isPerson
    ? [
        {
          ...{ at, actor, correlationId, action: `allocation.${event}`, target: `node:${machine.spec.hostname}` },
          before: before && asJson(before),
          after: { ...asJson(after), ...(note !== undefined && { note }) },
        },
      ]
    : [];
  const writes: Write[] = [{ kind: 'put-allocation', allocation: after, isOpen: isOpen(after.state) }];
  // What still waits must not create the account again after it was removed; a started task is waited for.
  if (after.state === 'releasing' || after.state === 'released') {
    const reason = 'the allocation is released';
    writes.push({
      kind: 'cancel-tasks',
      cancellation: { task: 'provision-account', which: 'waiting', at, origin, reason },
    });
  }
  const events = [newEvent(frame, 'allocation.moved', data)];
  if (after.state === 'release_failed') {
    const about = { allocation: after.id, user: after.user, reason: after.reason ?? 'no reason was given' };
    events.push(newEvent(frame, 'allocation.release_failed', about));
  }
  return { outcome: 'change', change: { ...emptyChange(machine, at), writes, events, audit } };
}

const asJson = (allocation: Allocation) => ({ ...allocation, sudo: allocation.sudo && { ...allocation.sudo } });
