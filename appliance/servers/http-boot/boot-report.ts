// What a booting machine tells: a script that failed, with iPXE's error number and where it was, or a system that has come up.
// Anybody can send one, so it is text of bounded length, told as something that was said.

import type { EventData } from '../../domain/events/event-table.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import { shown } from '../../domain/parsed.ts';

export interface BootReport {
  readonly mac: Mac | null;
  /** Only a failure comes with an error number. */
  readonly kind: 'boot.failed' | 'boot.reported';
  readonly data: EventData<'boot.reported'>;
}

const FIELDS = ['stage', 'errno', 'platform', 'version', 'message'] as const;

export function readBootReport(told: URLSearchParams): BootReport {
  const mac = parseMac(told.get('mac') ?? '');
  const data: { [Field in (typeof FIELDS)[number]]?: string } = {};
  for (const field of FIELDS) {
    const value = told.get(field);
    if (value) data[field] = shown(value);
  }
  return { mac: mac.ok ? mac.value : null, kind: 'errno' in data ? 'boot.failed' : 'boot.reported', data };
}
