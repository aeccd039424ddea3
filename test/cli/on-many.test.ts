import { describe, expect, it } from 'vitest';
import { matcher } from '../../appliance/cli/node-selection.ts';
import { failureOf, onMany } from '../../appliance/cli/on-many.ts';
import { progressOn } from '../../appliance/cli/progress.ts';
import { ColdironError } from '../../appliance/domain/errors.ts';

const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `node${index}`);
const unreachable = (node: string) => new ColdironError('bmc_unreachable', `${node}: no BMC answers`);

describe('a verb for many nodes', () => {
  it('works on so many at once and no more, and answers in the order they were named', async () => {
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

  it('goes on past failures, and groups them by cause with the most frequent first', async () => {
    const heard: string[] = [];
    const outcomes = await onMany(
      names(5),
      async (node) => {
        if (node === 'node1') throw new ColdironError('bmc_login_failed', 'node1: wrong password');
        if (node === 'node2' || node === 'node4') throw unreachable(node);
        return 'on';
      },
      ({ node }) => heard.push(node),
    );
    expect(heard).toHaveLength(5);
    expect(failureOf(outcomes)).toMatchObject({
      code: 'bmc_unreachable',
      message: '3 of 5 nodes failed',
      details: [
        'bmc_unreachable, 2: node2 node4',
        '  node2: no BMC answers',
        'bmc_login_failed, 1: node1',
        '  node1: wrong password',
        expect.stringContaining('set-credentials'),
      ],
    });
  });

  it('fails for one node as for that node alone, and not at all when all is well', () => {
    const error = unreachable('node0');
    expect(failureOf([{ node: 'node0', answer: null, error }])).toBe(error);
    expect(failureOf([{ node: 'node0', answer: 'on', error: null }])).toBeNull();
  });

  it('does not hide what is no refusal', async () => {
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

  it('is a line for each that is done, where nobody watches', () => {
    const { written, output } = screen(null);
    const progress = progressOn(output, ['a', 'node10']);
    progress.show('a', 'power on …', 'yellow', false);
    progress.show('a', 'on', 'green', true);
    expect(written).toEqual(['a       on\n']);
  });

  it('is a table that changes in place on a terminal', () => {
    const { written, output } = screen(24);
    const progress = progressOn(output, ['a', 'b']);
    progress.show('b', 'on', 'green', true);
    expect(written.join('')).toBe('\u001b[2Ka  waits\n\u001b[2Kb  waits\n\u001b[2A\u001b[2Ka  waits\n\u001b[2Kb  on\n');
  });

  it.each([
    ['high enough', 10, 80],
    ['wide enough: a broken line would be drawn over in the wrong place', 24, 33],
  ])('is lines again where the screen is not %s', (_what, rows, columns) => {
    const { written, output } = screen(rows, columns);
    progressOn(output, names(10)).show('node3', 'on', 'green', true);
    expect(written).toEqual(['node3  on\n']);
  });
});

describe('choosing nodes', () => {
  const node = (labels: Record<string, string>, cluster: string | null = null) => ({ labels, cluster });

  it.each([
    ['all of them', {}, node({}), true],
    ['by a label', { label: ['tier=gold'] }, node({ tier: 'gold' }), true],
    ['by a label that is otherwise', { label: ['tier=gold'] }, node({ tier: 'tin' }), false],
    ['by two labels', { label: ['tier=gold', 'row=3'] }, node({ tier: 'gold' }), false],
    ['by a label with an equals sign in it', { label: ['a=b=c'] }, node({ a: 'b=c' }), true],
    ['by rack', { rack: 'r7' }, node({ rack: 'r7' }), true],
    ['by cluster and rack', { rack: 'r7', cluster: 'kube' }, node({ rack: 'r7' }, 'mail'), false],
    ['by a label that every object has', { label: ['constructor=x'] }, node({}), false],
  ])('%s', (_how, options, candidate, chosen) => {
    expect(matcher(options)(candidate)).toBe(chosen);
  });

  it('refuses a label without a value', () => {
    expect(() => matcher({ label: ['tier'] })).toThrow('--label takes key=value, not tier');
  });
});
