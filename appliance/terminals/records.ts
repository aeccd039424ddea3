// What is recorded of terminals: who, where, from when to when, why it ended, and how many bytes. Never what was typed or shown.

import { type NewAuditEntry, type NewEvent, newEvent, type StoredEvent } from '../domain/event.ts';
import { knownEvent } from '../domain/events/known-event.ts';
import { type Instant, instantText, SECOND } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { Terminal, TerminalAbout } from './terminal.ts';

export interface TerminalRecord {
  readonly about: TerminalAbout;
  readonly at: Instant;
}

export interface Records {
  readonly events: NewEvent[];
  readonly audit: NewAuditEntry[];
}

export function openedRecords({ about, at }: TerminalRecord, waited: Instant): Records {
  const { id: terminal, allocation, user, machine, hostname, origin } = about;
  const { actor, correlationId } = origin;
  const data = { terminal, allocation, user };
  return {
    events: [newEvent({ at, actor, machine, correlationId }, 'terminal.opened', { ...data, waited_ms: waited })],
    audit: [
      { at, actor, correlationId, action: 'terminal.opened', target: `node:${hostname}`, before: null, after: data },
    ],
  };
}

export function closedRecords(terminal: Terminal, openedAt: Instant, at: Instant): Records {
  const { about, over, typedBytes, shownBytes, firstOutputAt } = terminal;
  const { id, allocation, user, machine, hostname, origin } = about;
  const { actor, correlationId } = origin;
  const data = {
    ...{ terminal: id, allocation, user, because: over?.because ?? 'unknown', status: over?.status ?? null },
    seconds: Math.round((at - openedAt) / SECOND),
    ...{ typed_bytes: typedBytes, shown_bytes: shownBytes },
    first_output_ms: firstOutputAt === null ? null : firstOutputAt - openedAt,
  };
  const after = { ...data, opened_at: instantText(openedAt), closed_at: instantText(at) };
  return {
    events: [newEvent({ at, actor, machine, correlationId }, 'terminal.closed', data)],
    audit: [{ at, actor, correlationId, action: 'terminal.closed', target: `node:${hostname}`, before: null, after }],
  };
}

export interface Unclosed {
  readonly machine: MachineId;
  closed(at: Instant, hostname: string): Records;
}

/** Terminals of a process that could not record their end. */
export function unclosed(events: readonly StoredEvent[]): Unclosed[] {
  const open = new Map<string, Unclosed>();
  for (const stored of events) {
    const event = knownEvent(stored);
    if (event?.kind === 'terminal.closed') open.delete(event.data.terminal);
    if (event?.kind !== 'terminal.opened' || event.machine === null) continue;
    const { machine, actor, correlationId, at: openedAt, data } = event;
    const { terminal, allocation, user } = data;
    const because = 'the appliance ended without closing it';
    const unknown = { status: null, typed_bytes: 0, shown_bytes: 0, first_output_ms: null };
    open.set(terminal, {
      machine,
      closed: (at, hostname) => {
        const closed = {
          terminal,
          allocation,
          user,
          because,
          seconds: Math.round((at - openedAt) / SECOND),
          ...unknown,
        };
        const after = { ...closed, opened_at: instantText(openedAt), closed_at: instantText(at) };
        return {
          events: [newEvent({ at, actor: 'appliance', machine, correlationId }, 'terminal.closed', closed)],
          audit: [
            {
              ...{ at, actor: 'appliance', correlationId, action: 'terminal.closed', target: `node:${hostname}` },
              before: { actor },
              after,
            },
          ],
        };
      },
    });
  }
  return [...open.values()];
}
