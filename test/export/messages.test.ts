import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../appliance/domain/event.ts';
import { EVENT_KINDS } from '../../appliance/domain/events/event-table.ts';
import { sampleData } from '../../appliance/domain/events/sample-event.ts';
import { lokiPush } from '../../appliance/export/loki-push.ts';
import { messageOf } from '../../appliance/export/message.ts';
import { isSelected, planBatch } from '../../appliance/export/select.ts';
import { framed, syslogMessage } from '../../appliance/export/syslog-message.ts';
import { AT, EVERYTHING, lookUp, message, NODE01, STREAM, stored } from './sample-messages.ts';

const HOSTILE = 'a\u001b]0;x\u0007\nb\u202ec "q]\\';
const FRAME = { facility: 'local0', host: 'appliance-1' } as const;

describe('a message', () => {
  it('has an id that is the same each time, and the labels of its node', () => {
    expect(message(7)).toEqual({
      id: 'evt_00c0ffee00c0ffee_7',
      seq: 7,
      at: AT,
      kind: 'trail.gap',
      severity: 'warning',
      actor: 'appliance',
      sentence: 'The trail dropped 7 events',
      labels: {
        site_id: 'lab',
        onboarding_id: null,
        node_id: NODE01,
        maas_system_id: null,
        hostname: 'node01',
        correlation_id: 'c-1',
      },
      data: { lost: 7 },
    });
  });

  it('has the run and the MAAS id that the data names', () => {
    const data = { lost: 1, onboarding: 'run-1', maas_system_id: 'abc123' };
    expect(message(1, { data }).labels).toMatchObject({ onboarding_id: 'run-1', maas_system_id: 'abc123' });
    const inMaas = () => ({ site: 'lab', hostname: 'node01', maasSystemId: 'd8n3re' });
    expect(messageOf(stored(1), STREAM, inMaas).labels.maas_system_id).toBe('d8n3re');
  });

  it('contains no control characters and no secrets, whatever the event contains', () => {
    const data = {
      words: [HOSTILE, { [HOSTILE]: 'Authorization: Bearer abcdefgh12345678' }],
      password: 'password=hunter22',
    };
    const sent = message(1, { kind: `odd${HOSTILE}`, actor: HOSTILE, correlationId: HOSTILE, data });
    const text = JSON.stringify(sent);
    expect(text).not.toMatch(/abcdefgh12345678|hunter22/);
    for (const each of [
      sent.kind,
      sent.actor,
      sent.sentence,
      sent.labels.correlation_id,
      ...Object.keys(sent.data ?? {}),
    ]) {
      expect(each).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    }
    expect(text).not.toContain('\u202e');
  });

  it('leaves out data that is too large', () => {
    expect(message(1, { data: { text: 'x'.repeat(40_000) } }).data).toEqual({
      left_out: 'the data is too large to be exported',
    });
  });

  it('exists for every kind of event', () => {
    for (const kind of EVENT_KINDS) {
      expect(message(1, { kind, data: sampleData(kind) as Json }).sentence.length, kind).toBeGreaterThan(5);
    }
  });
});

describe('the selection of a receiver', () => {
  it.each([
    ['everything', {}, true],
    ['its kind', { kinds: ['trail.gap'] }, true],
    ['the group of its kind', { kinds: ['lifecycle', 'trail'] }, true],
    ['the beginning of its kind, which is no group', { kinds: ['trai'] }, false],
    ['another kind', { kinds: ['lifecycle'] }, false],
    ['its severity', { severity: 'warning' }, true],
    ['a worse severity', { severity: 'error' }, false],
    ['its node', { nodes: ['node01'] }, true],
    ['another node', { nodes: ['node02'] }, false],
  ] as const)('with %s', (_, selection, selected) => {
    expect(isSelected(stored(1), { ...EVERYTHING, ...selection }, lookUp)).toBe(selected);
  });

  it('never includes events about receivers', () => {
    const problem = { problem: 'receiver-unreachable', subject: 'logs', words: 'w', next_step: 'n' };
    expect(isSelected(stored(1, { kind: 'appliance.problem', data: problem }), EVERYTHING, lookUp)).toBe(false);
    expect(isSelected(stored(1, { kind: 'appliance.recovered', data: problem }), EVERYTHING, lookUp)).toBe(false);
    expect(isSelected(stored(1, { kind: 'export.dead-letter' }), EVERYTHING, lookUp)).toBe(false);
    const full = { ...problem, problem: 'disk-full' };
    expect(isSelected(stored(1, { kind: 'appliance.problem', data: full }), EVERYTHING, lookUp)).toBe(true);
  });
});

describe('a batch', () => {
  const context = { stream: STREAM, selection: { ...EVERYTHING, kinds: ['trail'] }, lookUp, now: AT + 5 };

  it('moves past events that are not selected', () => {
    const batch = planBatch(4, [stored(5), stored(6, { kind: 'lifecycle.ready' })], context);
    expect([batch.messages.map((each) => each.message.seq), batch.upTo]).toEqual([[5], 6]);
  });

  it('says which events are missing', () => {
    const batch = planBatch(4, [stored(8), stored(10)], context);
    expect(batch.messages.map(({ message: { kind, seq, data }, lost }) => [kind, seq, data, lost])).toEqual([
      ['export.lost', 7, { from: 5, to: 7, count: 3 }, 3],
      ['trail.gap', 8, { lost: 8 }, 0],
      ['export.lost', 9, { from: 9, to: 9, count: 1 }, 1],
      ['trail.gap', 10, { lost: 10 }, 0],
    ]);
  });
});

describe('a push to Loki', () => {
  it('has one stream for each site and severity; other labels are metadata of the line', () => {
    const { streams } = lokiPush(
      [message(7), message(8), message(9, { machine: null, correlationId: null })],
      ['site_id'],
    );
    expect(streams.map(({ stream, values }) => [stream, values.map(([time, , metadata]) => [time, metadata])])).toEqual(
      [
        [
          { job: 'coldiron', severity: 'warning', site_id: 'lab' },
          [
            [`${AT}000007`, { node_id: NODE01, hostname: 'node01', correlation_id: 'c-1' }],
            [`${AT}000008`, { node_id: NODE01, hostname: 'node01', correlation_id: 'c-1' }],
          ],
        ],
        [{ job: 'coldiron', severity: 'warning' }, [[`${AT}000009`, {}]]],
      ],
    );
    expect(JSON.parse(streams[0]?.values[0]?.[1] ?? '')).toMatchObject({
      seq: 7,
      kind: 'trail.gap',
      data: { lost: 7 },
    });
  });

  it('makes stream labels of those that the site asks for', () => {
    const { streams } = lokiPush([message(7)], ['hostname', 'correlation_id']);
    expect(streams[0]?.stream).toEqual({
      job: 'coldiron',
      severity: 'warning',
      hostname: 'node01',
      correlation_id: 'c-1',
    });
    expect(streams[0]?.values[0]?.[2]).toEqual({ site_id: 'lab', node_id: NODE01 });
  });
});

describe('a syslog message', () => {
  it('has the form of RFC 5424', () => {
    const head = `<132>1 2026-01-15T08:00:00.250Z appliance-1 coldiron - trail.gap `;
    const element =
      `[coldiron@32473 id="evt_${STREAM}_7" seq="7" kind="trail.gap" site_id="lab" node_id="${NODE01}" hostname="node01" ` +
      `correlation_id="c-1" actor="appliance" data="{\\"lost\\":7}"\\]`.replace('"\\]', '"]');
    expect(syslogMessage(message(7), FRAME, 'stream').toString()).toBe(`${head}${element} The trail dropped 7 events`);
  });

  it('escapes what would end its structured data', () => {
    const text = syslogMessage(message(1, { actor: HOSTILE }), FRAME, 'stream').toString();
    expect(text).toContain('c \\"q\\]\\\\"');
    expect(text).not.toMatch(/[\p{Cc}]/u);
  });

  it('fits the limit of its transport, and is valid UTF-8, however long the event is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3000 }), (text) => {
        const long = message(1, { kind: 'export.dead-letter', data: { receiver: text, event: 1, reason: text } });
        for (const [transport, most] of [
          ['stream', 8000],
          ['datagram', 2048],
        ] as const) {
          const bytes = syslogMessage(long, FRAME, transport);
          expect(bytes.length).toBeLessThanOrEqual(most);
          expect(() => new TextDecoder('utf-8', { fatal: true }).decode(bytes)).not.toThrow();
          expect(framed(bytes).toString().startsWith(`${bytes.length} <`)).toBe(true);
        }
      }),
      { numRuns: 15 },
    );
  });
});
