import { describe, expect, test } from 'vitest';
import { figureRuns, type SidedRun, turnsOf } from './compare.ts';
import { isOurs } from './cpu-meter.ts';

const run = (side: SidedRun['side'], output: string, cpuSeconds = 1, failure: string | null = null): SidedRun => ({
  side,
  run: { output, cpuSeconds, seconds: 2, failure },
});
const idle = (megabytes: number): string => `idle: rss_mb=${megabytes} rss_10000_nodes_mb=187 limit_mb=200\n`;

describe('a comparison', () => {
  test('both trees take turns, and each is first equally often', () => {
    expect(turnsOf(3, true)).toEqual(['before', 'now', 'now', 'before', 'before', 'now']);
    expect(turnsOf(2, false)).toEqual(['now', 'now']);
  });

  test('the readings go to their tree, with the CPU time of the whole run', () => {
    const runs = [run('before', idle(100), 3), run('now', idle(120), 4), run('now', idle(122), 5)];
    const figures = figureRuns('idle', runs, true);
    const [memory] = figures;
    expect(memory?.now.map(({ value }) => value)).toEqual([120, 122]);
    expect(memory?.before?.map(({ value }) => value)).toEqual([100]);
    const whole = figures.at(-1);
    expect(whole?.figure.label).toBe('idle: CPU of our processes in a whole run');
    expect([whole?.before, whole?.now].map((each) => each?.map(({ value }) => value))).toEqual([[3], [4, 5]]);
  });

  test('a failed run counts for nothing', () => {
    const [memory] = figureRuns('idle', [run('now', idle(1), 1, 'ended with 1'), run('now', idle(2))], true);
    expect(memory?.now.map(({ value }) => value)).toEqual([2]);
  });

  test('a search does not do the same work in each run: its CPU time as a whole says nothing', () => {
    const labels = figureRuns('dhcp', [], true).map(({ figure }) => figure.label);
    expect(labels.filter((label) => label.includes('whole run'))).toEqual([]);
  });

  test('without another tree there is nothing to compare with', () => {
    const figures = figureRuns('idle', [run('now', idle(100))], false);
    expect(figures.every(({ before }) => before === null)).toBe(true);
    expect(figures.some(({ figure }) => figure.label.includes('whole run'))).toBe(false);
  });
});

describe('the processes that count as ours', () => {
  const serve = ['/t/node_modules/.bin/node', '--max-semi-space-size=8', '/t/appliance/cli/coldiron.ts', 'serve', ''];

  test('the appliance and the commands of this tree, not of another, and no peer or client', () => {
    expect(isOurs('http', '/t', false, serve)).toBe(true);
    expect(isOurs('http', '/old', false, serve)).toBe(false);
    expect(isOurs('http', '/t', false, ['nginx', '-c', '/t/x'])).toBe(false);
    expect(isOurs('storm', '/t', false, ['node', '/t/test/bench/storm-client.ts'])).toBe(false);
  });

  test('the benchmark itself only where it runs our code', () => {
    expect(isOurs('decide', '/t', true, [])).toBe(true);
    expect(isOurs('http', '/t', true, [])).toBe(false);
  });
});
