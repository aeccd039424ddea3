import { describe, expect, test } from 'vitest';
import { median, percentile } from '../figures.ts';
import type { Reading } from './printed.ts';
import {
  comparisonTable,
  digits,
  type FigureRuns,
  peerRatioOf,
  ratioOf,
  readmeTable,
  spreadOf,
  verdictOf,
} from './summary.ts';

const readings = (...values: number[]): Reading[] => values.map((value) => ({ value, peer: null }));
const against = (peer: number, ...values: number[]): Reading[] =>
  values.map((value) => ({ value, peer: { name: 'nginx', value: peer } }));
const RATE = { label: 'HTTP', unit: 'MB/s', better: 'more' } as const;
const COST = { label: 'HTTP, CPU', unit: 'ms/GB', better: 'less' } as const;

describe('medians and spreads', () => {
  test('the median of an odd number of values is one of them, of an even number the mean of two', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 3, 2])).toBe(2.5);
    expect(median([7])).toBe(7);
    expect(median([])).toBeNaN();
    // Numbers, not their texts.
    expect(median([10, 9, 100])).toBe(10);
  });

  test('a percentile is a value that occurred', () => {
    expect(percentile([1, 2, 3, 4], 0.5)).toBe(2);
    expect(percentile([1, 2, 3, 4], 0.99)).toBe(4);
  });

  test('median, lowest and highest; nothing of nothing', () => {
    expect(spreadOf(readings(5, 1, 3))).toEqual({ median: 3, min: 1, max: 5, runs: 3 });
    expect(spreadOf([])).toBeNull();
  });

  test('the ratio of two trees; none to zero', () => {
    const spread = (value: number) => ({ median: value, min: value, max: value, runs: 1 });
    expect(ratioOf(spread(3), spread(2))).toBe(1.5);
    expect(ratioOf(spread(0), spread(0))).toBeNull();
  });

  test('the ratio to the peer is the median of the ratios of each run', () => {
    // One run was slow for both: its ratio counts, not its rate.
    const runs = [...against(100, 150), ...against(10, 16), ...against(100, 140)];
    expect(peerRatioOf(runs)).toBe(1.5);
    expect(peerRatioOf(readings(1, 2))).toBeNull();
    expect(peerRatioOf(against(0, 2))).toBeNull();
  });

  test('better and worse need runs that do not overlap', () => {
    const at = (min: number, max: number) => ({ median: (min + max) / 2, min, max, runs: 2 });
    expect(verdictOf('more', at(11, 12), at(8, 10))).toBe('better');
    expect(verdictOf('less', at(11, 12), at(8, 10))).toBe('worse');
    expect(verdictOf('more', at(5, 7), at(8, 10))).toBe('worse');
    expect(verdictOf('less', at(5, 7), at(8, 10))).toBe('better');
    expect(verdictOf('more', at(5, 9), at(8, 10))).toBe('same');
    expect(verdictOf('more', at(10, 12), at(8, 10))).toBe('same');
    expect(verdictOf('less', at(0, 0), at(0, 0))).toBe('same');
    expect(verdictOf('less', { ...at(5, 5), runs: 1 }, at(8, 10))).toBe('unknown');
    expect(verdictOf('less', at(5, 7), { ...at(8, 8), runs: 1 })).toBe('unknown');
  });

  test.each([
    [12_923.4, '12,923'],
    [464, '464'],
    [96.14, '96.1'],
    [2.071, '2.07'],
    [0.4567, '0.457'],
    [0, '0'],
  ])('%d is shown as %s', (value, shown) => {
    expect(digits(value)).toBe(shown);
  });
});

describe('the tables', () => {
  const rate: FigureRuns = { figure: RATE, now: against(3600, 3300, 3400, 3200), before: against(3600, 3500, 3500) };
  const cost: FigureRuns = { figure: COST, now: readings(90), before: [] };

  test('both trees: median, spread, ratio, verdict and both ratios to the peer', () => {
    expect(comparisonTable([rate], 'old', 'new')).toEqual({
      lines: [
        '| work | old | new | new / old | beyond the spread | ours / peer |',
        '|---|---|---|---|---|---|',
        '| HTTP, MB/s (higher is better) | 3,500 | 3,300 (3,200–3,400) | 0.94× | worse | 0.97× → 0.92× |',
      ],
      notCompared: [],
    });
  });

  test('what one tree does not print is named, with the value of the new tree', () => {
    const silentNow: FigureRuns = { figure: RATE, now: [], before: readings(1) };
    const { lines, notCompared } = comparisonTable([rate, cost, silentNow], 'old', 'new');
    expect(lines).toHaveLength(3);
    expect(notCompared).toEqual(['HTTP, CPU: not printed by old; new: 90 ms/GB', 'HTTP: not printed by new']);
    expect(comparisonTable([{ ...cost, now: [] }], 'old', 'new')).toEqual({
      lines: [],
      notCompared: ['HTTP, CPU: not printed by old and new'],
    });
  });

  test('a peer that only one tree was measured against', () => {
    const { lines } = comparisonTable([{ figure: RATE, now: against(2, 4), before: readings(4) }], 'old', 'new');
    expect(lines.at(-1)).toBe('| HTTP, MB/s (higher is better) | 4 | 4 | 1.00× | unknown | – → 2.00× |');
  });

  test('one tree, as in the README', () => {
    const both = [...against(100, 150), { value: 160, peer: { name: 'kea | threads', value: 120 } }];
    expect(
      readmeTable([
        { figure: RATE, now: both, before: null },
        { ...cost, before: null },
      ]),
    ).toEqual({
      lines: [
        '| work | Coldiron | peer |  |',
        '|---|---|---|---|',
        '| HTTP | 155 (150–160) MB/s | nginx or kea \\| threads 110 (100–120) MB/s | 1.42× |',
        '| HTTP, CPU | 90 ms/GB |  |  |',
      ],
      notCompared: [],
    });
    expect(readmeTable([{ figure: RATE, now: [], before: null }])).toEqual({
      lines: [],
      notCompared: ['HTTP: not printed'],
    });
  });
});
