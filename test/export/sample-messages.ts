import type { StoredEvent } from '../../appliance/domain/event.ts';
import { parseMachineId } from '../../appliance/domain/machine.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { type ExportMessage, messageOf, type NodeLookup } from '../../appliance/export/message.ts';
import type { Selection } from '../../appliance/export/select.ts';

export const AT = Date.UTC(2026, 0, 15, 8, 0, 0, 250);
export const STREAM = '00c0ffee00c0ffee';
export const NODE01 = mustParse(parseMachineId('11111111-1111-4111-8111-111111111111'));

export const lookUp: NodeLookup = (id) =>
  id === NODE01 ? { site: 'lab', hostname: 'node01', maasSystemId: null } : null;

export const EVERYTHING: Selection = { kinds: [], severity: 'info', nodes: [] };

export const stored = (seq: number, changes: Partial<StoredEvent> = {}): StoredEvent => ({
  seq,
  at: AT,
  kind: 'trail.gap',
  actor: 'appliance',
  machine: NODE01,
  correlationId: 'c-1',
  data: { lost: seq },
  ...changes,
});

export const message = (seq: number, changes: Partial<StoredEvent> = {}): ExportMessage =>
  messageOf(stored(seq, changes), STREAM, lookUp);
