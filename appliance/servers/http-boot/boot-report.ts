// The report of a booting machine: a script that failed, with iPXE's error number and stage, or a system that has started.
// Reports are not authenticated, so they are text of bounded length, recorded as a claim. What makes a report of a failure more than a
// claim is in provisioning/sessions/boot-failure.ts.

import type { EventData } from '../../domain/events/event-table.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import { shown } from '../../domain/parsed.ts';

export interface MachineReport {
  readonly mac: Mac | null;
  /** Only a failure has an error number. */
  readonly kind: 'boot.failed' | 'boot.reported';
  /** The id of the ticket in the script that failed; null: it had none. */
  readonly boot: string | null;
  readonly data: EventData<'boot.reported'>;
}

const FIELDS = ['stage', 'errno', 'platform', 'version', 'message'] as const;

export function readBootReport(query: URLSearchParams): MachineReport {
  const mac = parseMac(query.get('mac') ?? '');
  const data: { [Field in (typeof FIELDS)[number]]?: string } = {};
  for (const field of FIELDS) {
    const value = query.get(field);
    if (value) data[field] = shown(value);
  }
  return {
    mac: mac.ok ? mac.value : null,
    kind: 'errno' in data ? 'boot.failed' : 'boot.reported',
    boot: query.get('boot') || null,
    data,
  };
}
