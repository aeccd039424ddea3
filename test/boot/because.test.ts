import { describe, expect, it } from 'vitest';
import { BECAUSE, becauseOfState } from '../../appliance/boot/because.ts';
import { decideBoot } from '../../appliance/boot/decide-boot.ts';
import { EVERYTHING_STARTS } from '../../appliance/boot/startability.ts';
import { unparsable } from '../../appliance/domain/parsed.ts';
import { BOOT_CASES } from './boot-cases.ts';
import { factsOf, machineIn, NOW, networkWith, OTHER_UUID } from './boot-fixtures.ts';
import { NEXT_STAGE_CASES } from './next-stage-cases.ts';

const otherChassis = {
  facts: factsOf(7, { uuid: OTHER_UUID }),
  machine: machineIn('active'),
  network: networkWith(),
  profile: null,
  now: NOW,
};
const questions = [
  ...BOOT_CASES.map((row) => row.question),
  ...NEXT_STAGE_CASES.map((row) => row.question),
  otherChassis,
];
const STARTABILITIES = [
  EVERYTHING_STARTS,
  { ...EVERYTHING_STARTS, image: () => unparsable('nixos/worker/bzImage') },
  { ...EVERYTHING_STARTS, orderProblem: () => 'its site is not declared' },
];
const reasons = questions
  .flatMap((question) => STARTABILITIES.map((startability) => decideBoot({ ...question, startability })))
  .flatMap((decision) => [decision.because, decision.nextStage.because]);

describe('the table of reasons', () => {
  it('has only reasons that a decision gives', () => {
    const given = new Set<string>(reasons.map((reason) => reason.id));
    expect(Object.keys(BECAUSE).filter((id) => !given.has(id))).toEqual([]);
  });

  it('has no unfilled placeholder in the text or hint of any decision', () => {
    for (const { words, hint } of reasons) {
      expect(words).not.toMatch(/[{}]|undefined|null/);
      expect(hint).not.toMatch(/[{}]|undefined|null/);
    }
  });

  it('fills in each value once: a placeholder inside a value is not replaced', () => {
    const details = { node: 'node01', note: '{node}', at: '', why: '', failure: '' };
    expect(becauseOfState('quarantined', (name) => details[name]).words).toBe('node01 is quarantined: {node}');
  });

  it('writes reasons as clauses and hints as sentences', () => {
    for (const { words, hint } of Object.values(BECAUSE)) {
      expect(words).not.toMatch(/\.$/);
      if (hint !== '' && !hint.includes('coldiron ')) expect(hint).toMatch(/\.$/);
    }
  });
});
