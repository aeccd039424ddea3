// What leaves the appliance for one event: an id for de-duplication, the labels, one sentence, and the data with every text made safe.

import type { Json, StoredEvent } from '../domain/event.ts';
import type { Severity } from '../domain/events/event-row.ts';
import { eventSentence, severityOf } from '../domain/events/known-event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import { plainLine } from '../domain/plain-line.ts';
import { maskSecrets } from '../domain/secret-masks.ts';

/** The names that logs of all programs of a site are searched by. */
export const LABELS = ['site_id', 'onboarding_id', 'node_id', 'maas_system_id', 'hostname', 'correlation_id'] as const;
export type Label = (typeof LABELS)[number];
export type Labels = Readonly<Record<Label, string | null>>;

export interface ExportMessage {
  /** The same each time that this event is sent to this receiver. */
  readonly id: string;
  readonly seq: number;
  readonly at: Instant;
  readonly kind: string;
  readonly severity: Severity;
  readonly actor: string;
  /** One plain line. */
  readonly sentence: string;
  readonly labels: Labels;
  readonly data: Json;
}

/** What the inventory says about the machine of an event. */
export interface ExportedNode {
  readonly site: string | null;
  readonly hostname: string;
  readonly maasSystemId: string | null;
}

export type NodeLookup = (id: MachineId) => ExportedNode | null;

/** Larger data is left out: receivers have limits, and the log of the appliance has it. */
const MOST_DATA = 32 * 1024;

export function messageOf(event: StoredEvent, stream: string, lookUp: NodeLookup): ExportMessage {
  const { seq, at, kind, actor, machine, correlationId, onboarding, data } = event;
  const node = machine === null ? null : lookUp(machine);
  const safe = safeJson(data);
  return {
    id: messageId(stream, seq),
    seq,
    at,
    kind: plainLine(kind),
    severity: severityOf(kind),
    actor: safeText(actor),
    sentence: maskSecrets(eventSentence(event)),
    labels: {
      site_id: node?.site ?? null,
      onboarding_id: onboarding ?? textIn(data, 'onboarding'),
      node_id: machine,
      maas_system_id: textIn(data, 'maas_system_id') ?? node?.maasSystemId ?? null,
      hostname: node?.hostname ?? null,
      correlation_id: correlationId === null ? null : safeText(correlationId),
    },
    data: JSON.stringify(safe).length > MOST_DATA ? { left_out: 'the data is too large to be exported' } : safe,
  };
}

/** Events that were deleted before this receiver could get them: it must not believe that it has everything. */
export const gapMessage = (from: number, to: number, stream: string, at: Instant): ExportMessage => ({
  id: messageId(stream, to),
  seq: to,
  at,
  kind: 'export.lost',
  severity: 'error',
  actor: 'appliance',
  sentence: `${to - from + 1} events, ${from} to ${to}, were deleted before they could be delivered here`,
  labels: {
    site_id: null,
    onboarding_id: null,
    node_id: null,
    maas_system_id: null,
    hostname: null,
    correlation_id: null,
  },
  data: { from, to, count: to - from + 1 },
});

const messageId = (stream: string, seq: number): string => `evt_${stream}_${seq}`;

const safeText = (text: string): string => maskSecrets(plainLine(text));

function safeJson(value: Json): Json {
  if (typeof value === 'string') return safeText(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(safeJson);
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [safeText(key), safeJson(item)]));
}

function textIn(data: Json, name: string): string | null {
  if (typeof data !== 'object' || data === null || Array.isArray(data)) return null;
  const value = (data as { readonly [key: string]: Json })[name];
  return typeof value === 'string' && value !== '' ? safeText(value) : null;
}
