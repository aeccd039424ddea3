import { describe, expect, it } from 'vitest';
import { IpmiError } from '../../../appliance/bmc/ipmi/ipmi-error.ts';
import { EVERY_OFFER, type OfferOutcome, offersAfter, type Tried } from '../../../appliance/bmc/ipmi/negotiation.ts';

type Answer = readonly [OfferOutcome['kind'], OfferOutcome['at']?];

/** Answers each offer in turn, and says what was tried and how it ended. */
function negotiate(...answers: readonly Answer[]): string {
  let offers = EVERY_OFFER;
  const tried: Tried[] = [];
  for (const [kind, at = 'open-session'] of answers) {
    const [offer, ...left] = offers;
    if (!offer) throw new Error('nothing left to answer');
    tried.push({ offer, outcome: { kind, at, words: 'words of the BMC' } as OfferOutcome });
    const next = offersAfter(left, tried);
    if (next instanceof IpmiError) return `${next.reason}${next.retryable ? ', later perhaps' : ''}`;
    offers = next;
  }
  return offers.map(({ suite, privilege }) => `${suite.id} ${privilege}`).join(', ');
}

describe('the next offer', () => {
  it.each<[string, readonly Answer[], string]>([
    ['is suite 17 as administrator at first', [], '17 administrator, 3 administrator, 17 operator, 3 operator'],
    ['leaves suite 17 alone once it is refused', [['cipher-suite']], '3 administrator, 3 operator'],
    ['leaves a suite alone that is answered with another', [['other-algorithms']], '3 administrator, 3 operator'],
    ['leaves a suite alone that gets no answer', [['silence']], '3 administrator, 3 operator'],
    ['leaves a suite alone that is called an illegal parameter', [['protocol']], '3 administrator, 3 operator'],
    [
      'takes a refused role in Open Session for a refused suite as well',
      [['privilege']],
      '3 administrator, 17 operator, 3 operator',
    ],
    ['asks for less after a refused role in RAKP', [['privilege', 'rakp-2']], '17 operator, 3 operator'],
    ['tries the other suite once when slots are said to be full', [['resources']], '3 administrator'],
    ['gives up when they are full with both', [['resources'], ['resources']], 'slots-full, later perhaps'],
    ['gives up when no suite is left', [['cipher-suite'], ['cipher-suite']], 'no-cipher-suite'],
    [
      'gives up when operator is refused too',
      [
        ['privilege', 'rakp-2'],
        ['privilege', 'rakp-2'],
      ],
      'privilege',
    ],
    ['never repeats a wrong user name', [['user', 'rakp-2']], 'wrong-user'],
    ['never repeats a wrong password', [['password', 'rakp-2']], 'wrong-password'],
    ['never repeats a wrong BMC key', [['bmc-key', 'rakp-4']], 'wrong-bmc-key'],
    ['never talks to a BMC that drops the protection', [['unauthenticated']], 'unauthenticated'],
    ['knows silence from refusal', [['silence'], ['silence']], 'vanished, later perhaps'],
  ])('%s', (_sentence, answers, expected) => {
    expect(negotiate(...answers)).toBe(expected);
  });
});
