import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { attackLine } from './attack-reporter.ts';
import { ATTACKS, countAttacks, isAttack, withAttackCount } from './attack-tally.ts';

const ROOT = join(import.meta.dirname, '..');

describe('the number of attacks', () => {
  it('in docs/security.md is that of the tests (npm run docs updates it)', async () => {
    const text = readFileSync(join(ROOT, 'docs/security.md'), 'utf8');
    expect(text).toBe(withAttackCount(text, await countAttacks()));
  });

  it('counts places that exist, and nothing else', () => {
    expect(ATTACKS.filter((place) => !existsSync(join(ROOT, place)))).toEqual([]);
    expect(isAttack('test/attacks/twin-bound.test.ts')).toBe(true);
    expect(isAttack('test/boot/decide-boot.test.ts')).toBe(false);
  });

  it('is written only to its place', () => {
    expect(withAttackCount('a <!-- attacks -->old<!-- /attacks --> b', 1234)).toBe(
      'a <!-- attacks -->1,234 attacks and 2,500,000 damaged inputs<!-- /attacks --> b',
    );
    expect(() => withAttackCount('no place', 1)).toThrow('no place for the number');
  });
});

describe('the line of a run', () => {
  it('counts the attacks that ran, those that got through, and the inputs that were sent', () => {
    const attacks = [
      { passed: true, inputs: 200_000 },
      { passed: false, inputs: 0 },
      { passed: true, inputs: 100_000 },
    ];
    expect(attackLine(attacks)).toBe('attacks: 3 tried, 1 got through; damaged inputs: 300,000 of 2,500,000');
  });

  it('is missing without attacks', () => {
    expect(attackLine([])).toBeNull();
  });
});
