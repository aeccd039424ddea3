// What a step records for people: one event, and an audit entry when a person or token requested it.

import { type Actor, type NewAuditEntry, type NewEvent, newEvent, type Origin } from '../domain/event.ts';
import { type FailureCause, lifecycleData } from '../domain/events/machine-events.ts';
import type { Instant } from '../domain/instant.ts';
import type { Lifecycle } from '../domain/lifecycle.ts';
import type { Machine } from '../domain/machine.ts';
import type { LifecycleEvent } from './transitions.ts';

/** The actor of everything that no person or token requested. */
export const APPLIANCE: Actor = 'appliance';

interface Happening {
  readonly at: Instant;
  readonly machine: Machine;
  readonly event: LifecycleEvent;
  readonly origin: Origin;
  /** For the diagnosis; the reason of a failure is for people. */
  readonly failureCause?: FailureCause | undefined;
}

export const movedEvent = ({ at, machine, event, origin, failureCause }: Happening, after: Lifecycle): NewEvent =>
  newEvent(
    { at, actor: origin.actor, machine: machine.id, correlationId: origin.correlationId },
    `lifecycle.${after.state}`,
    {
      event,
      before: lifecycleData(machine.lifecycle),
      after: lifecycleData(after),
      ...(failureCause && { cause: failureCause }),
    },
  );

export const unexpectedEvent = ({ at, machine, event, origin }: Happening, reason: string): NewEvent => ({
  at,
  kind: 'lifecycle.unexpected',
  actor: origin.actor,
  machine: machine.id,
  correlationId: origin.correlationId,
  data: { event, state: machine.lifecycle.state, reason },
});

/** Reports of machines and deadlines are not audited: only requests of a token or a local user are. */
export const movedAudit = ({ at, machine, event, origin }: Happening, after: Lifecycle): NewAuditEntry[] =>
  isPerson(origin.actor)
    ? [
        {
          at,
          actor: origin.actor,
          action: `node.${event}`,
          target: `node:${machine.spec.hostname}`,
          correlationId: origin.correlationId,
          before: lifecycleData(machine.lifecycle),
          after: lifecycleData(after),
        },
      ]
    : [];

const isPerson = (actor: Actor): boolean => actor !== APPLIANCE && !actor.startsWith('machine:');
