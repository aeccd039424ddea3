// What sessions leave behind for people to read: events of the trail, and audit entries for what somebody answers for.

import type { Json, NewAuditEntry, NewEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session } from '../../domain/session.ts';

interface Happening {
  readonly at: Instant;
  readonly machine: Machine;
  readonly correlationId: string | null;
}

export const sessionEvent = ({ at, machine, correlationId }: Happening, kind: string, data: Json): NewEvent => ({
  at,
  kind: `session.${kind}`,
  actor: `machine:${machine.spec.hostname}`,
  machine: machine.id,
  correlationId,
  data,
});

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
