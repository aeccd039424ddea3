import { describe, expect, it } from 'vitest';
import { IpmiError } from '../../../appliance/bmc/ipmi/ipmi-error.ts';
import { EVERY_OFFER, type OfferOutcome, offersAfter, type Tried } from '../../../appliance/bmc/ipmi/negotiation.ts';

type Answer = readonly [OfferOutcome['kind'], OfferOutcome['at']?];

/** Replies to each offer in turn, and returns what was tried and the result. */
function negotiate(...answers: readonly Answer[]): string {
  let offers = EVERY_OFFER;
  const tried: Tried[] = [];
  for (const [kind, at = 'open-session'] of answers) {
    const [offer, ...left] = offers;
    if (!offer) throw new Error('no offer left');
    tried.push({ offer, outcome: { kind, at, words: 'message of the BMC' } as OfferOutcome });
    const next = offersAfter(left, tried);
    if (next instanceof IpmiError) return `${next.reason}${next.retryable ? ', retryable' : ''}`;
    offers = next;
  }
  return offers.map(({ suite, privilege }) => `${suite.id} ${privilege}`).join(', ');
}

describe('the next offer', () => {
  it.each<[string, readonly Answer[], string]>([
    ['is suite 17 as administrator at first', [], '17 administrator, 3 administrator, 17 operator, 3 operator'],
    ['skips suite 17 after it was refused', [['cipher-suite']], '3 administrator, 3 operator'],
    ['skips a suite that is answered with another', [['other-algorithms']], '3 administrator, 3 operator'],
    ['skips a suite that gets no reply', [['silence']], '3 administrator, 3 operator'],
    ['skips a suite that is refused as an illegal parameter', [['protocol']], '3 administrator, 3 operator'],
    [
      'treats a refused role in Open Session as a possibly refused suite',
      [['privilege']],
      '3 administrator, 17 operator, 3 operator',
    ],
    ['requests a lower privilege after a refused role in RAKP', [['privilege', 'rakp-2']], '17 operator, 3 operator'],
    ['tries the other suite once when the slots are reported as full', [['resources']], '3 administrator'],
    ['fails when they are full with both', [['resources'], ['resources']], 'slots-full, retryable'],
    ['fails when no suite is left', [['cipher-suite'], ['cipher-suite']], 'no-cipher-suite'],
    [
      'fails when operator is refused too',
      [
        ['privilege', 'rakp-2'],
        ['privilege', 'rakp-2'],
      ],
      'privilege',
    ],
    ['never repeats a wrong user name', [['user', 'rakp-2']], 'wrong-user'],
    ['never repeats a wrong password', [['password', 'rakp-2']], 'wrong-password'],
    ['never repeats a wrong BMC key', [['bmc-key', 'rakp-4']], 'wrong-bmc-key'],
    ['fails when the BMC drops the protection', [['unauthenticated']], 'unauthenticated'],
    ['distinguishes a timeout from a refusal', [['silence'], ['silence']], 'vanished, retryable'],
  ])('%s', (_sentence, answers, expected) => {
    expect(negotiate(...answers)).toBe(expected);
  });
});
