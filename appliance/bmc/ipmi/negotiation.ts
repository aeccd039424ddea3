// The next cipher suite and privilege to try. The lists of supported suites that BMCs report are often wrong, so the suites are
// tried in order: SHA-256 before SHA-1, administrator before operator. Credentials are tried once, never in a loop.

import { SUITE_3, SUITE_17 } from '../../codecs/ipmi/cipher-suite.ts';
import type { HandshakeRefusal, Offer } from './handshake.ts';
import { IpmiError } from './ipmi-error.ts';

export type OfferOutcome =
  | HandshakeRefusal
  | { readonly at: 'open-session'; readonly kind: 'silence'; readonly words: string };

export interface Tried {
  readonly offer: Offer;
  readonly outcome: OfferOutcome;
}

export const EVERY_OFFER: readonly Offer[] = [
  { suite: SUITE_17, privilege: 'administrator' },
  { suite: SUITE_3, privilege: 'administrator' },
  { suite: SUITE_17, privilege: 'operator' },
  { suite: SUITE_3, privilege: 'operator' },
];

/** The remaining offers after this outcome; an error when there are none. */
export function offersAfter(left: readonly Offer[], tried: readonly Tried[]): readonly Offer[] | IpmiError {
  const last = tried.at(-1);
  if (!last) return left;
  const remaining = remainingOffers(left, last);
  return remaining.length > 0 ? remaining : failureOf(tried);
}

function remainingOffers(left: readonly Offer[], { offer, outcome }: Tried): readonly Offer[] {
  switch (outcome.kind) {
    case 'user':
    case 'password':
    case 'bmc-key':
    case 'unauthenticated':
      return [];
    case 'privilege':
      // Supermicro X8 and MSI reply "privilege" to a disabled cipher suite in Open Session; later it really is the privilege.
      return outcome.at === 'open-session' ? left : left.filter(({ privilege }) => privilege !== offer.privilege);
    case 'resources':
      // Intel's BMCs reply "no resources" to an unsupported cipher suite; for both suites it really is the resources.
      return left.filter(({ suite, privilege }) => suite !== offer.suite && privilege === offer.privilege);
    case 'cipher-suite':
    case 'other-algorithms':
    case 'silence':
    case 'protocol':
      return left.filter(({ suite }) => suite !== offer.suite);
  }
}

/** For a remembered offer: whether another one could succeed. Credentials are not retried with another suite. */
export const negotiationMayHelp = ({ at, kind }: OfferOutcome): boolean =>
  kind === 'privilege'
    ? at === 'open-session'
    : ['cipher-suite', 'other-algorithms', 'silence', 'protocol', 'resources'].includes(kind);

function failureOf(tried: readonly Tried[]): IpmiError {
  const outcomes = tried.map(({ outcome }) => outcome);
  const find = (...kinds: readonly OfferOutcome['kind'][]) => outcomes.find(({ kind }) => kinds.includes(kind));
  const user = find('user');
  if (user) return new IpmiError('wrong-user', `wrong user name: ${user.words}`);
  const password = find('password');
  if (password) return new IpmiError('wrong-password', `wrong password or privilege: ${password.words}`);
  const key = find('bmc-key');
  if (key) return new IpmiError('wrong-bmc-key', `wrong BMC key: ${key.words}`);
  const unauthenticated = find('unauthenticated');
  if (unauthenticated) return new IpmiError('unauthenticated', unauthenticated.words);
  const resources = find('resources');
  if (resources) return new IpmiError('slots-full', `session slots full: ${resources.words}`);
  const privilege = find('privilege');
  if (privilege) {
    return new IpmiError('privilege', `the user has neither administrator nor operator privilege: ${privilege.words}`);
  }
  const details = tried.map(({ offer, outcome }) => `suite ${offer.suite.id}: ${outcome.words}`).join('; ');
  if (outcomes.every(({ kind }) => kind === 'silence')) {
    return new IpmiError('vanished', `the BMC replies, but not to Open Session requests: ${details}`);
  }
  return new IpmiError('no-cipher-suite', `no cipher suite in common: ${details}`);
}
