import { describe, expect, it } from 'vitest';
import { type Mutant, withFault } from './mutant.ts';
import { summaryOf, type TestReport, type Verdict, verdictOf } from './verdict.ts';

const reportOf = (...statuses: string[]): TestReport => ({
  testResults: [
    {
      status: statuses.includes('failed') ? 'failed' : 'passed',
      assertionResults: statuses.map((status, at) => ({ fullName: `test ${at}`, status })),
    },
  ],
});

describe('a fault', () => {
  it('is inserted only where its source text occurs exactly once', () => {
    expect(withFault('a > b', { source: '>', fault: '>=' })).toBe('a >= b');
    expect(withFault('a $& b', { source: 'a', fault: '$&' })).toBe('$& $& b');
    expect(withFault('a > b > c', { source: '>', fault: '>=' })).toBeNull();
    expect(withFault('aaa', { source: 'aa', fault: '' })).toBeNull();
    expect(withFault('a < b', { source: '>', fault: '>=' })).toBeNull();
  });

  it.each<[string, TestReport | null, boolean, Verdict, RegExp]>([
    ['a test failed', reportOf('passed', 'failed'), false, 'noticed', /test 1/],
    ['all tests passed', reportOf('passed', 'skipped'), false, 'survived', /all tests passed/],
    ['the tests time out', null, true, 'survived', /timed out/],
    ['no test ran', reportOf('skipped'), false, 'does not apply', /no test ran/],
    ['nothing was reported', null, false, 'does not apply', /no test ran/],
    [
      'the file does not load',
      { testResults: [{ status: 'failed', message: 'Unexpected token', assertionResults: [] }] },
      false,
      'does not apply',
      /Unexpected token/,
    ],
  ])('when %s', (_, report, timedOut, verdict, detail) => {
    expect(verdictOf({ report, timedOut })).toEqual({ verdict, detail: expect.stringMatching(detail) });
  });
});

describe('the summary', () => {
  const mutant: Mutant = { name: 'x', file: 'x.ts', source: 'a', fault: 'b', tests: [], why: '' };
  const of = (noticed: number, survived: number, absent = 0) =>
    summaryOf([
      ...Array(noticed).fill({ mutant, verdict: 'noticed', detail: '' }),
      ...Array(survived).fill({ mutant, verdict: 'survived', detail: '' }),
      ...Array(absent).fill({ mutant, verdict: 'does not apply', detail: '' }),
    ]);

  it.each([
    ['95 %', of(19, 1), 0, '20 faults: 19 noticed (95 %), 1 survived, 0 do not apply'],
    ['less, however little', of(949, 50), 1, '999 faults: 949 noticed (94.9 %), 50 survived, 0 do not apply'],
    ['an entry that does not apply', of(99, 0, 1), 1, '100 faults: 99 noticed (99 %), 0 survived, 1 do not apply'],
    ['nothing at all', of(0, 0), 1, '0 faults: 0 noticed (0 %), 0 survived, 0 do not apply'],
  ])('of %s', (_, { line, exitCode }, code, words) => {
    expect({ line, exitCode }).toEqual({ line: words, exitCode: code });
  });
});
