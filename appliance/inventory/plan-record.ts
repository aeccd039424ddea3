// Records each change twice: as an event on the trail, and as an audit entry with the value before and after.

import type { Json, NewAuditEntry, NewEvent } from '../domain/event.ts';
import { lifecycleData } from '../domain/events/machine-events.ts';
import type { Instant } from '../domain/instant.ts';
import type { ObjectChange, ObjectKind } from '../domain/inventory.ts';
import type { Lifecycle } from '../domain/lifecycle.ts';
import type { MachineId } from '../domain/machine.ts';
import { difference, fileShape, sameValue } from './difference.ts';

/** The part of a plan for one object. */
export interface Step {
  readonly change: ObjectChange;
  readonly machine: MachineId | null;
  readonly before: Json;
  readonly after: Json;
  /** Refused because the machine is in use. */
  readonly inUse?: boolean;
  /** The declaration also accepted the machine. */
  readonly accepted?: { readonly before: Lifecycle; readonly after: Lifecycle } | null;
}

/** An object and its source. */
export interface Owned {
  readonly value: unknown;
  readonly source: string;
}

/** The step from the stored object (null: none) to the declared one. */
export function stepTo(kind: ObjectKind, name: string, held: Owned | null, declared: Owned): Step {
  const { source } = declared;
  if (!held) {
    const after = ownedJson(declared);
    return { change: { kind, name, source, change: 'created', details: [] }, machine: null, before: null, after };
  }
  if (held.source === source && sameValue(held.value, declared.value)) {
    const change: ObjectChange = { kind, name, source, change: 'unchanged', details: [] };
    return { change, machine: null, before: null, after: null };
  }
  const [before, after] = [ownedJson(held), ownedJson(declared)];
  const details = difference(before, after);
  return { change: { kind, name, source, change: 'changed', details }, machine: null, before, after };
}

/** Adds lines that the difference between the two values does not contain. */
export const withNotes = (step: Step, notes: readonly string[]): Step =>
  notes.length === 0 ? step : { ...step, change: { ...step.change, details: [...step.change.details, ...notes] } };

export function removal(kind: ObjectKind, name: string, held: Owned, details: readonly string[] = []): Step {
  const change: ObjectChange = { kind, name, source: held.source, change: 'removed', details };
  return { change, machine: null, before: ownedJson(held), after: null };
}

export function refused(kind: ObjectKind, name: string, source: string, reason: string): Step {
  const change: ObjectChange = { kind, name, source, change: 'refused', details: [reason] };
  return { change, machine: null, before: null, after: null };
}

const ownedJson = ({ value, source }: Owned): Json => ({ ...(fileShape(value) as Record<string, Json>), source });

export function recordChanges(
  steps: readonly Step[],
  by: { readonly at: Instant; readonly actor: string; readonly correlationId: string | null },
): { events: NewEvent[]; audit: NewAuditEntry[] } {
  const events: NewEvent[] = [];
  const audit: NewAuditEntry[] = [];
  const { at, actor, correlationId } = by;
  for (const { change, machine, before, after, accepted } of steps) {
    const { kind, name, source, details } = change;
    if (change.change === 'unchanged' || change.change === 'refused') continue;
    const action = `${kind}.${change.change}` as const;
    const common = { at, actor, correlationId };
    events.push({ ...common, kind: action, machine, data: { name, source, details } });
    if (accepted) {
      const moved = { before: lifecycleData(accepted.before), after: lifecycleData(accepted.after) };
      events.push({ ...common, kind: 'lifecycle.registered', machine, data: { event: 'accept', ...moved } });
    }
    audit.push({ ...common, action: `inventory.${action}`, target: `${kind}:${name}`, before, after });
  }
  return { events, audit };
}
