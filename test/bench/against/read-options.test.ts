import { describe, expect, test } from 'vitest';
import { ALL } from './printed.ts';
import { type BenchOptions, readOptions, USAGE } from './read-options.ts';

const options = (line: string): BenchOptions => readOptions(line.split(' ').filter((word) => word !== ''));
const named = (...names: string[]) => names.map((name) => ({ name, count: null }));
const whole = { kind: 'table', against: null, rounds: 3, dirty: false };

describe('the command line of npm run bench', () => {
  test.each<[string, BenchOptions | object]>([
    ['decide', { kind: 'run', benches: named('decide') }],
    ['decide idle', { kind: 'run', benches: named('decide', 'idle') }],
    ['fuzz=1000', { kind: 'run', benches: [{ name: 'fuzz', count: 1000 }] }],
    ['all', { ...whole, benches: named(...ALL) }],
    ['all --rounds 1', { ...whole, benches: named(...ALL), rounds: 1 }],
    ['decide --rounds 5', { ...whole, benches: named('decide'), rounds: 5 }],
    ['decide --against 06b02aa', { ...whole, benches: named('decide'), against: '06b02aa' }],
    ['--against v1 --rounds 7 http dhcp', { ...whole, benches: named('http', 'dhcp'), against: 'v1', rounds: 7 }],
    ['decide --against HEAD~1 --dirty', { ...whole, benches: named('decide'), against: 'HEAD~1', dirty: true }],
    ['all --against main', { ...whole, benches: named(...ALL), against: 'main' }],
  ])('%s', (line, expected) => {
    expect(options(line)).toEqual(expected);
  });

  test.each([
    ['', 'no benchmark is named'],
    ['--against HEAD', 'no benchmark is named'],
    ['decode', 'there is no benchmark "decode"'],
    ['toString', 'there is no benchmark "toString"'],
    ['decide decode --against HEAD', 'there is no benchmark "decode"'],
    ['all decide', '"all" stands alone'],
    ['decide decide', 'decide is named twice'],
    ['fuzz=0', 'the count of fuzz must be a whole number, not "0"'],
    ['fuzz=', 'the count of fuzz must be a whole number, not ""'],
    ['fuzz=1=2', 'the count of fuzz must be a whole number, not "1=2"'],
    ['decide --against=', '--against needs a revision'],
    ['decide --rounds 0', '--rounds must be a whole number from 1 to 100, not "0"'],
    ['decide --rounds 1.5', '--rounds must be a whole number from 1 to 100, not "1.5"'],
    ['decide --rounds x', '--rounds must be a whole number from 1 to 100, not "x"'],
    ['decide --rounds 101', '--rounds must be a whole number from 1 to 100, not "101"'],
    ['decide --dirty', '--dirty belongs to --against'],
  ])('"%s" is refused with a reason', (line, reason) => {
    expect(options(line)).toEqual({ kind: 'wrong', reason });
  });

  test.each(['decide --again HEAD', 'decide --against', 'decide --against --rounds 2'])(
    '"%s" is refused and the option named',
    (line) => {
      expect(options(line)).toEqual({ kind: 'wrong', reason: expect.stringMatching(/--again/) });
    },
  );

  test('the usage lists each benchmark', () => {
    for (const name of [...ALL, 'onboarding', 'fuzz']) expect(USAGE).toContain(name);
  });
});
