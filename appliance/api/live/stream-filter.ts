// What one listener wants to see. Listeners with equal filters share their frames.

import { SEVERITIES, type Severity } from '../../domain/events/event-row.ts';
import type { MachineId } from '../../domain/machine.ts';

export interface StreamFilter {
  readonly machine: MachineId | null;
  readonly site: string | null;
  /** A kind with everything below it. */
  readonly kind: string | null;
  /** This severity and worse. */
  readonly severity: Severity;
  readonly rows: boolean;
  readonly events: boolean;
}

/** An event with what filters ask for, and its message. */
export interface StreamedEvent {
  readonly seq: number;
  readonly machine: MachineId | null;
  readonly site: string | null;
  readonly kind: string;
  readonly severity: Severity;
  readonly text: string;
}

/** A row as text, with what filters ask for. */
export interface RowEntry {
  readonly id: MachineId;
  readonly hostname: string;
  readonly site: string | null;
  readonly json: string;
}

export const keyOf = ({ machine, site, kind, severity, rows, events }: StreamFilter): string =>
  JSON.stringify([machine, site, kind, severity, rows, events]);

export function wantsEvent(filter: StreamFilter, { machine, site, kind, severity }: StreamedEvent): boolean {
  if (!filter.events) return false;
  if (filter.machine !== null && machine !== filter.machine) return false;
  if (filter.site !== null && site !== filter.site) return false;
  if (filter.kind !== null && kind !== filter.kind && !kind.startsWith(`${filter.kind}.`)) return false;
  return filter.severity === 'info' || SEVERITIES.indexOf(severity) >= SEVERITIES.indexOf(filter.severity);
}

export const wantsRow = (filter: StreamFilter, { id, site }: RowEntry): boolean =>
  filter.rows && (filter.machine === null || id === filter.machine) && (filter.site === null || site === filter.site);
