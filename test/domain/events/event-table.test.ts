// The table is closed: each kind has a schema, a sentence, a severity and a producer, and no producer writes anything else.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Check } from 'typebox/value';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../appliance/domain/event.ts';
import { SEVERITIES } from '../../../appliance/domain/events/event-row.ts';
import { EVENT_KINDS, EVENT_TABLE, eventRow } from '../../../appliance/domain/events/event-table.ts';
import { eventSentence, knownEvent } from '../../../appliance/domain/events/known-event.ts';
import { sampleData } from '../../../appliance/domain/events/sample-event.ts';
import { CATALOGUE_KINDS } from '../../../appliance/domain/inventory.ts';
import { LIFECYCLE_STATES } from '../../../appliance/domain/lifecycle.ts';

const APPLIANCE = join(import.meta.dirname, '../../../appliance');
const sources = readdirSync(APPLIANCE, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.startsWith('domain/events/'))
  .map((name) => readFileSync(join(APPLIANCE, name), 'utf8'))
  .join('\n');

/** Kinds that a producer composes: `dhcp.${type}` writes these. */
const COMPOSED: Readonly<Record<string, readonly string[]>> = {
  '`lifecycle.${after.state}`': LIFECYCLE_STATES.map((state) => `lifecycle.${state}`),
  '`${kind}.${change.change}`': [...CATALOGUE_KINDS, 'node'].flatMap((kind) =>
    ['created', 'changed', 'removed'].map((change) => `${kind}.${change}`),
  ),
  '`dhcp.${type}`': ['discover', 'request', 'decline', 'release', 'inform'].map((type) => `dhcp.${type}`),
  '`dhcp.${told}`': ['offer', 'ack', 'nak'].map((type) => `dhcp.${type}`),
  '`tftp.${result}`': ['completed', 'probe', 'aborted', 'timeout', 'error'].map((result) => `tftp.${result}`),
  '`bmc.boot-${kind}`': ['lasting', 'asked', 'obeyed', 'ignored', 'refused', 'undone', 'not-undone', 'no-time'].map(
    (kind) => `bmc.boot-${kind}`,
  ),
  '`enrollment.${kind}`': ['enrolled', 'recovered', 'renewed'].map((kind) => `enrollment.${kind}`),
  '`task.${state}`': ['queued', 'expired', 'unknown'].map((state) => `task.${state}`),
};
const composed = new Set(Object.entries(COMPOSED).flatMap(([text, kinds]) => (sources.includes(text) ? kinds : [])));

describe.each(EVENT_KINDS)('the event %s', (kind) => {
  const { data, severity, sentence } = EVENT_TABLE[kind];

  it('has a severity, and a schema that its sample matches', () => {
    expect(Check(data, sampleData(kind))).toBe(true);
    expect(Check(data, null)).toBe(false);
    expect(SEVERITIES).toContain(severity);
    expect(sentence).toBeTypeOf('function');
  });

  it('has a plain sentence', () => {
    const words = eventSentence({ kind, actor: 'token:alice', data: sampleData(kind) as Json });
    expect(words).toMatch(/^(?:[A-Z]|iPXE).{9,}/);
    expect(words).not.toMatch(/undefined|null|unknown|\[object|[{}]|version/i);
  });

  it('has a sentence without its optional and null fields', () => {
    const words = eventSentence({ kind, actor: 'token:alice', data: least(kind) });
    expect(words).not.toMatch(/undefined|null|\[object|[{}]|another version/);
  });

  it('has a producer', () => {
    expect(composed.has(kind) || sources.includes(`'${kind}'`)).toBe(true);
  });

  it('is one clean line when its fields are hostile', () => {
    const hostile = 'a\u001b[2J\u001b]0;x\u0007\r\nb\u202ec\u2066d\u2028e\u2029f\u0085g\u009bh\u200fi';
    const words = eventSentence({ kind, actor: hostile, data: withText(sampleData(kind) as Json, hostile) });
    expect(words).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    expect(words).not.toContain('another version');
  });
});

describe('a stored event', () => {
  const stored = { seq: 1, at: 0, actor: 'appliance', machine: null, correlationId: null };

  it('is known when the table has its kind and its data matches', () => {
    const event = { ...stored, kind: 'trail.gap', data: { lost: 1 } };
    expect(knownEvent(event)).toBe(event);
    expect(knownEvent({ ...event, data: { lost: 'many' } })).toBeNull();
    expect(knownEvent({ ...event, kind: 'trail.old' })).toBeNull();
    expect(eventRow('constructor')).toBeNull();
  });
});

/** Replaces every free text with `text`. */
function withText(data: Json, text: string): Json {
  if (typeof data === 'string') return data.startsWith('<') ? text : data;
  if (Array.isArray(data)) return data.map((item) => withText(item, text));
  if (typeof data !== 'object' || data === null) return data;
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, withText(value, text)]));
}

/** The sample with null where allowed, and without optional fields. */
function least(kind: (typeof EVENT_KINDS)[number]): Json {
  const { properties, required = [] } = EVENT_TABLE[kind].data as {
    properties: Record<string, { anyOf?: { type?: string }[] }>;
    required?: readonly string[];
  };
  const sample = sampleData(kind) as { [key: string]: Json };
  return Object.fromEntries(
    required.map((field) => [
      field,
      properties[field]?.anyOf?.some(({ type }) => type === 'null') ? null : (sample[field] ?? null),
    ]),
  );
}
