import { describe, expect, it } from 'vitest';
import { refusalOf } from '../../appliance/web/page/actions/commands.ts';
import { situation } from '../../appliance/web/page/fleet/situation.ts';
import { commandsIn } from '../../appliance/web/page/node/next-commands.ts';
import { waterfall } from '../../appliance/web/page/node/waterfall.ts';
import { matchPath, pathTo, placeOf } from '../../appliance/web/page/place.ts';
import { visible, visibleLines } from '../../appliance/web/page/text.ts';
import { ago, countdown, seconds, span } from '../../appliance/web/page/time.ts';
import { rowOf } from './rows.ts';

describe('text from machines', () => {
  it('shows control, bidi and zero-width characters as symbols', () => {
    expect(visible('a\u001b[31mb\u0000\n')).toBe('a␛[31mb␀␊');
    expect(visible('safe\u202egpj.exe\u200b')).toBe('safe‹U+202E›gpj.exe‹U+200B›');
    expect(visible('\u007f\u0085')).toBe('␡‹U+0085›');
    expect(visible('Größe 日本 <b>')).toBe('Größe 日本 <b>');
  });

  it('keeps line feeds and tabs where they are layout', () => {
    expect(visibleLines('a\n\tb\r')).toBe('a\n\tb␍');
  });
});

describe('times', () => {
  const at = Date.parse('2026-01-15T08:00:00Z');
  it.each([
    ['2026-01-15T07:59:58Z', 'just now'],
    ['2026-01-15T07:59:20Z', '40 s ago'],
    ['2026-01-15T07:49:00Z', '11 min ago'],
    ['2026-01-14T08:00:00Z', '24 h ago'],
    ['2026-01-01T08:00:00Z', '14 d ago'],
    ['2026-01-15T08:30:00Z', 'in 30 min'],
  ])('%s is %s', (time, text) => expect(ago(time, at)).toBe(text));

  it('count down, and never below zero', () => {
    expect(countdown('2026-01-15T08:04:09Z', at)).toBe('4:09');
    expect(countdown('2026-01-15T09:02:09Z', at)).toBe('1:02:09');
    expect(countdown('2026-01-15T07:00:00Z', at)).toBe('0:00');
    expect([span(59_999), seconds(0.31), seconds(59.6), seconds(125)]).toEqual(['59 s', '0.3 s', '60 s', '2 min 5 s']);
  });
});

describe('the router', () => {
  it('matches paths with parameters, and decodes them', () => {
    expect(matchPath('/nodes/:node', '/nodes/a%20b')).toEqual({ node: 'a b' });
    expect(matchPath('/nodes/:node', '/nodes')).toBeNull();
    expect(matchPath('/nodes/:node', '/nodes/%E0%A4%A')).toEqual({ node: '%E0%A4%A' });
    expect(placeOf(new URL('http://x/nodes/n1?tab=trail'))).toMatchObject({ page: 'node', params: { node: 'n1' } });
    expect(placeOf(new URL('http://x/nodes/n1/console'))).toMatchObject({ page: 'console' });
    expect(placeOf(new URL('http://x/nowhere')).page).toBeNull();
  });

  it('makes paths that it reads again', () => {
    expect(pathTo('node', { node: 'a/b' }, { tab: 'trail', q: '' })).toBe('/nodes/a%2Fb?tab=trail');
    expect(pathTo('fleet')).toBe('/');
  });
});

describe('what a node does', () => {
  it.each([
    [
      rowOf({ state: 'deploying', progress: { step: 'write-image', percent: 64.2, detail: '41 MB/s' } }),
      'Write image 64 %, 41 MB/s',
    ],
    [rowOf({ state: 'failed', failed_step: 'deploy', reason: 'no disk' }), 'No disk'],
    [
      rowOf({ state: 'discovered', cabling: { verdict: 'as-declared', summary: '' } }),
      'Waits to be accepted; cable as declared',
    ],
    [
      rowOf({ state: 'ready', waiting_for: 'It waits for an operator to deploy it.' }),
      'Waits for an operator to deploy it',
    ],
    [rowOf({ allocated_to: 'ada', health: 'silent' }), 'Used by ada; no heartbeat for 5 minutes'],
  ])('is one phrase', (row, text) => expect(situation(row)).toBe(text));
});

describe('a command', () => {
  it('is offered when a sentence names it', () => {
    expect(commandsIn('Fix it, then: coldiron deploy node05')).toEqual(['deployNode']);
    expect(commandsIn('coldiron drained NODE, or coldiron undrain NODE')).toEqual([
      'confirmNodeDrained',
      'undrainNode',
    ]);
    expect(commandsIn('coldiron nodes rebind n; coldiron deploy-all')).toEqual(['rebindNode']);
  });

  it('is refused with the reason: role, state, user', () => {
    expect(refusalOf('deployNode', rowOf({ state: 'ready' }), 'operator')).toBeNull();
    expect(refusalOf('deployNode', rowOf({ state: 'ready' }), 'viewer')).toBe(
      'needs the role operator; yours is viewer',
    );
    expect(refusalOf('deployNode', rowOf({ state: 'active' }), 'admin')).toBe(
      'its state is active; this needs ready, enrolling or failed',
    );
    const failed = rowOf({ state: 'failed', failed_step: 'commission' });
    expect(refusalOf('deployNode', failed, 'admin')).toMatch(/failed at commission/);
    expect(refusalOf('commissionNode', failed, 'admin')).toBeNull();
    expect(refusalOf('endNodeRescue', rowOf({ state: 'rescue' }), 'operator')).toBeNull();
    expect(refusalOf('releaseNode', rowOf({ allocated_to: 'ada' }), 'admin')).toBe('ada uses it');
  });
});

describe('the waterfall', () => {
  const at = (second: number): string => new Date(Date.UTC(2026, 0, 15, 8, 0, second)).toISOString();
  const expected = (median: number, p90: number) => ({ median_seconds: median, p90_seconds: p90, samples: 38 });
  const stage = { waits_for: '', overdue: false };

  it('puts stages on one axis, and marks what is much slower than usual', () => {
    const { bars, totalSeconds } = waterfall(
      {
        ...{ node: 'n', work: 'deploying', began: at(0), ended: null, attempts: 1, steps: [] },
        stages: [
          { ...stage, stage: 'power', began: at(0), ended: at(4), seconds: 4, expected: expected(4, 5) },
          { ...stage, stage: 'dhcp', began: at(4), ended: at(8), seconds: 4, expected: expected(1, 2) },
          { ...stage, stage: 'loader', began: at(8), ended: null, seconds: null, expected: null },
        ],
      },
      Date.parse(at(10)),
    );
    expect(totalSeconds).toBe(10);
    expect(bars.map(({ start, length, slow, running }) => ({ start, length, slow, running }))).toEqual([
      { start: 0, length: 0.4, slow: false, running: false },
      { start: 0.4, length: 0.4, slow: true, running: false },
      { start: 0.8, length: 0.2, slow: false, running: true },
    ]);
  });

  it('is empty before the first boot', () => {
    const empty = { node: 'n', work: null, began: null, ended: null, attempts: 0, stages: [], steps: [] };
    expect(waterfall(empty, 0)).toEqual({ bars: [], totalSeconds: 0 });
  });
});
