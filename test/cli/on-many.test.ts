import { describe, expect, it } from 'vitest';
import { failureOf, onMany } from '../../appliance/cli/on-many.ts';
import { progressOn } from '../../appliance/cli/progress.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `node${index}`);
const unreachable = (node: string) => new ColdironError('bmc_unreachable', `${node}: no BMC answers`);

describe('a verb for many nodes', () => {
  it('limits concurrent requests, and returns the results in the order of the names', async () => {
    let [now, most] = [0, 0];
    const outcomes = await onMany(
      names(100),
      async (node) => {
        now += 1;
        most = Math.max(most, now);
        await new Promise((resolve) => setImmediate(resolve));
        now -= 1;
        return node;
      },
      () => undefined,
    );
    expect(most).toBe(32);
    expect(outcomes.map(({ answer }) => answer)).toEqual(names(100));
  });

  it('continues after failures, and groups them by cause, most frequent first', async () => {
    const finished: string[] = [];
    const outcomes = await onMany(
      names(5),
      async (node) => {
        if (node === 'node1') throw new ColdironError('bmc_login_failed', 'node1: wrong password');
        if (node === 'node2' || node === 'node4') throw unreachable(node);
        return 'on';
      },
      ({ node }) => finished.push(node),
    );
    expect(finished).toHaveLength(5);
    expect(failureOf(outcomes)).toMatchObject({
      code: 'bmc_unreachable',
      message: '3 of 5 nodes failed',
      details: [
        'bmc_unreachable, 2: node2 node4',
        '  node2 node4: no BMC answers',
        'bmc_login_failed, 1: node1',
        '  node1: wrong password',
        expect.stringContaining('set-credentials'),
      ],
    });
  });

  it('lists every reason of every node, once for nodes with the same reasons', () => {
    const refused = (node: string, ...reasons: string[]) => ({
      node,
      answer: null,
      error: new ColdironError('not_deployable', `${node} cannot be deployed`, reasons),
    });
    const failure = failureOf([
      refused('node1', 'its disk is too small', 'no DNS server is declared'),
      refused('node2', 'no DNS server is declared'),
      refused('node3', 'no DNS server is declared'),
    ]);
    expect(failure?.details).toEqual([
      'not_deployable, 3: node1 node2 node3',
      '  node1: cannot be deployed',
      '    its disk is too small',
      '    no DNS server is declared',
      '  node2 node3: cannot be deployed',
      '    no DNS server is declared',
    ]);
  });

  it('removes the name of a node from the beginning of its reasons, and no part of a word', () => {
    const failed = (node: string, message: string) => ({
      node,
      answer: null,
      error: new ColdironError('bmc_unreachable', message),
    });
    expect(failureOf([failed('n', 'no BMC answers'), failed('m', 'm: is off')])?.details).toEqual([
      'bmc_unreachable, 2: n m',
      '  n: no BMC answers',
      '  m: is off',
    ]);
  });

  it('fails with the error of a single node, and does not fail when all succeed', () => {
    const error = unreachable('node0');
    expect(failureOf([{ node: 'node0', answer: null, error }])).toBe(error);
    expect(failureOf([{ node: 'node0', answer: 'on', error: null }])).toBeNull();
  });

  it('rethrows errors that are not refusals', async () => {
    const broken = onMany(
      ['node0'],
      () => Promise.reject(new TypeError('x')),
      () => undefined,
    );
    await expect(broken).rejects.toThrow(TypeError);
  });
});

describe('progress', () => {
  const screen = (rows: number | null, columns = 80) => {
    const written: string[] = [];
    const size = rows === null ? null : { rows, columns };
    return { written, output: { size, colour: false, write: (text: string) => void written.push(text) } };
  };

  it('writes a line for each node that is done when there is no terminal', () => {
    const { written, output } = screen(null);
    const progress = progressOn(output, ['a', 'node10']);
    progress.show('a', 'power on …', 'yellow', false);
    progress.show('a', 'on', 'green', true);
    expect(written).toEqual(['a       on\n']);
  });

  it('redraws a table in place on a terminal', () => {
    const { written, output } = screen(24);
    const progress = progressOn(output, ['a', 'b']);
    progress.show('b', 'on', 'green', true);
    expect(written.join('')).toBe(
      '\u001b[2Ka  waiting\n\u001b[2Kb  waiting\n\u001b[2A\u001b[2Ka  waiting\n\u001b[2Kb  on\n',
    );
  });

  it.each([
    ['high enough', 10, 80],
    ['wide enough: a broken line would be drawn over in the wrong place', 24, 33],
  ])('writes lines when the screen is not %s', (_what, rows, columns) => {
    const { written, output } = screen(rows, columns);
    progressOn(output, names(10)).show('node3', 'on', 'green', true);
    expect(written).toEqual(['node3  on\n']);
  });
});
