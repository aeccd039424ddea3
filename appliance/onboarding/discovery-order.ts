// Which machine a run is about: host name, BMC address, PXE MAC; then one that is created and power-cycled; then, if policy allows, the only
// new machine. Whatever is ambiguous stops the run, with the candidates.

import { type Instant, SECOND } from '../domain/instant.ts';
import type { OnboardingPolicy, OnboardingRequest } from '../domain/onboarding.ts';

/** A known machine that could be the requested one. */
export interface Candidate {
  /** The provider's reference. */
  readonly id: string;
  /** For people: host name, MAC, BMC address. */
  readonly name: string;
  readonly hostname: string;
  readonly bmcAddress: string | null;
  /** Its MAC is one that the BMC of the request names. */
  readonly pxeMac: boolean;
}

/** An undeclared machine that was seen on a network of the site after the power cycle. */
export interface NewMachine {
  readonly id: string;
  readonly name: string;
  readonly firstSeen: Instant;
  /** `same`: its serial number or BMC address is that of the BMC. `other`: it is not. `unknown`: it has not said yet. */
  readonly identity: 'same' | 'other' | 'unknown';
}

export type Match = 'hostname' | 'bmc-address' | 'pxe-mac';

export type Found =
  | { readonly kind: 'use'; readonly candidate: Candidate; readonly by: Match }
  | { readonly kind: 'create' }
  | { readonly kind: 'stop'; readonly reason: string; readonly candidates: readonly string[] };

const RULES: readonly (readonly [Match, (candidate: Candidate, request: OnboardingRequest) => boolean])[] = [
  ['hostname', ({ hostname }, request) => hostname === request.hostname],
  ['bmc-address', ({ bmcAddress }, request) => bmcAddress === request.bmcAddress],
  ['pxe-mac', ({ pxeMac }) => pxeMac],
];

export function findMachine(
  request: OnboardingRequest,
  candidates: readonly Candidate[],
  { adopt }: Pick<OnboardingPolicy, 'adopt'>,
): Found {
  const matches = RULES.map(([by, holds]) => ({ by, found: candidates.filter((one) => holds(one, request)) }));
  const matched = [...new Set(matches.flatMap(({ found }) => found))];
  const names = matched.map(({ name }) => name);
  if (matched.length > 1) {
    const which = matches.flatMap(({ by, found }) => found.map(({ name }) => `${name} by ${WORDS[by]}`));
    return stop(`the request matches more than one machine: ${which.join(', ')}`, names);
  }
  const [only] = matched;
  if (only === undefined) return { kind: 'create' };
  if (adopt === 'never') return stop(`${only.name} exists, and policy uses no existing machine (adopt: never)`, names);
  if (only.bmcAddress !== null && only.bmcAddress !== request.bmcAddress) {
    return stop(`${only.name} has the BMC ${only.bmcAddress}, not ${request.bmcAddress}`, names);
  }
  const by = matches.find(({ found }) => found.length > 0)?.by ?? 'hostname';
  return { kind: 'use', candidate: only, by };
}

const WORDS: Readonly<Record<Match, string>> = {
  hostname: 'host name',
  'bmc-address': 'BMC address',
  'pxe-mac': 'MAC address',
};

const stop = (reason: string, candidates: readonly string[]): Found => ({ kind: 'stop', reason, candidates });

export type Claim =
  | { readonly kind: 'claim'; readonly machine: NewMachine }
  | { readonly kind: 'wait'; readonly until: Instant | null }
  | { readonly kind: 'stop'; readonly reason: string; readonly candidates: readonly string[] };

/** A machine that shows itself first may not be the right one: others get this long to appear, and it to say who it is. */
export const SETTLE: Instant = 90 * SECOND;

export function claimMachine(
  machines: readonly NewMachine[],
  { autoClaim }: Pick<OnboardingPolicy, 'autoClaim'>,
  now: Instant,
): Claim {
  const same = machines.filter(({ identity }) => identity === 'same');
  const [proven, ...others] = same;
  const names = (list: readonly NewMachine[]) => list.map(({ name }) => name);
  if (proven && others.length > 0) {
    return { kind: 'stop', reason: 'more than one new machine has the identity of this BMC', candidates: names(same) };
  }
  if (proven) return { kind: 'claim', machine: proven };
  const possible = machines.filter(({ identity }) => identity === 'unknown');
  const [only, ...more] = possible;
  if (only === undefined) return { kind: 'wait', until: null };
  const settled = Math.max(...possible.map(({ firstSeen }) => firstSeen)) + SETTLE;
  if (now < settled) return { kind: 'wait', until: settled };
  if (more.length > 0) {
    const reason = 'more than one new machine appeared, and none says that it has this BMC';
    return { kind: 'stop', reason, candidates: names(possible) };
  }
  if (autoClaim) return { kind: 'claim', machine: only };
  const reason = `${only.name} appeared, nothing says that it has this BMC, and policy claims no machine (auto_claim: false)`;
  return { kind: 'stop', reason, candidates: names(possible) };
}
