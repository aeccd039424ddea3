// What sessions record for people: events of the trail, and audit entries.

import { type Json, type NewAuditEntry, type NewEvent, newEvent } from '../../domain/event.ts';
import type { EventData, EventKind } from '../../domain/events/event-table.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session } from '../../domain/session.ts';
import { APPLIANCE } from '../../machines/record.ts';

interface Happening {
  readonly at: Instant;
  readonly machine: Machine;
  readonly correlationId: string | null;
}

type SessionEventKind = Extract<EventKind, `session.${string}`>;

export const sessionEvent = <Kind extends SessionEventKind>(
  { at, machine, correlationId }: Happening,
  kind: Kind,
  data: EventData<Kind>,
): NewEvent =>
  newEvent({ at, actor: `machine:${machine.spec.hostname}`, machine: machine.id, correlationId }, kind, data);

export const hardwareEvent = <Kind extends Extract<EventKind, `hardware.${string}`>>(
  { at, machine, correlationId }: Happening,
  kind: Kind,
  data: EventData<Kind>,
): NewEvent =>
  newEvent({ at, actor: `machine:${machine.spec.hostname}`, machine: machine.id, correlationId }, kind, data);

export const mediumEvent = <Kind extends Extract<EventKind, `medium.${string}`>>(
  { at, machine, correlationId }: Omit<Happening, 'machine'> & { readonly machine: Pick<Machine, 'id'> },
  kind: Kind,
  data: EventData<Kind>,
  actor: string = APPLIANCE,
): NewEvent => newEvent({ at, actor, machine: machine.id, correlationId }, kind, data);

export const sessionAudit = (
  { at, machine, correlationId }: Happening,
  action: string,
  session: Pick<Session, 'id' | 'mode'>,
  after: { readonly [key: string]: Json },
): NewAuditEntry => ({
  at,
  actor: `machine:${machine.spec.hostname}`,
  action: `session.${action}`,
  target: `node:${machine.spec.hostname}`,
  correlationId,
  before: null,
  after: { session: session.id, mode: session.mode, ...after },
});
