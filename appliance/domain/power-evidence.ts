// A machine that its BMC reads as off cannot report. What the BMC said and when reports came, weighed: is a second machine using
// the identity? The BMC network is trusted and an attacker on the provisioning network cannot see it. But BMCs answer late, and
// some with an old state, so one reading proves nothing.

import { type Instant, instantText, MINUTE, SECOND } from './instant.ts';

export type PowerReading = 'on' | 'off' | 'unknown';

export type PowerFact =
  /** The appliance switched the machine off; it was on, and now the BMC reads back off. */
  | { readonly kind: 'cut'; readonly at: Instant }
  | { readonly kind: 'reading'; readonly power: PowerReading; readonly at: Instant }
  /** The appliance is about to switch it on. */
  | { readonly kind: 'started' }
  /** A request with the certificate of the node, or with the key of its session. */
  | { readonly kind: 'heard'; readonly at: Instant };

/** Every reading since `offSince` said off. */
export interface PowerEvidence {
  readonly offSince: Instant;
  /** The last reading. */
  readonly readAt: Instant;
  /** It began with the appliance switching it off. */
  readonly cut: boolean;
  /** The first report after the last reading; null: none. */
  readonly heardAt: Instant | null;
  /** How many times a report came between two readings. */
  readonly rounds: number;
}

export interface Weighed {
  readonly evidence: PowerEvidence | null;
  /** What was observed; null: nothing that proves two machines. */
  readonly twin: string | null;
}

/** A report that was sent before the power went off may have waited in a queue of the appliance. */
export const IN_FLIGHT = 10 * SECOND;
/** A server does not start, report and go off again between two readings that are closer than this. */
export const READINGS_APART = 3 * MINUTE;
/** Where the appliance did not switch it off itself, it must be read as off for this long: some BMCs show an old state for a minute. */
export const OFF_FOR_LONG = 2 * MINUTE;
const ROUNDS_WITHOUT_CUT = 2;

export function weigh(before: PowerEvidence | null, fact: PowerFact): Weighed {
  switch (fact.kind) {
    case 'started':
      return { evidence: null, twin: null };
    case 'cut':
      return { evidence: off(fact.at, true), twin: null };
    case 'heard':
      return { evidence: before && withReport(before, fact.at), twin: null };
    case 'reading':
      return weighReading(before, fact.power, fact.at);
  }
}

const off = (at: Instant, cut: boolean): PowerEvidence => ({
  ...{ offSince: at, readAt: at, cut },
  heardAt: null,
  rounds: 0,
});

const withReport = (before: PowerEvidence, at: Instant): PowerEvidence =>
  before.heardAt !== null || at < before.offSince + IN_FLIGHT ? before : { ...before, heardAt: at };

function weighReading(before: PowerEvidence | null, power: PowerReading, at: Instant): Weighed {
  if (power === 'unknown') return { evidence: before, twin: null };
  if (power === 'on') return { evidence: null, twin: null };
  if (before === null) return { evidence: off(at, false), twin: null };
  const { heardAt, rounds, cut, offSince } = before;
  if (heardAt === null) return { evidence: { ...before, readAt: at }, twin: null };
  if (at - before.readAt > READINGS_APART) return { evidence: off(at, false), twin: null };
  const isProved = cut || (rounds + 1 >= ROUNDS_WITHOUT_CUT && at - offSince >= OFF_FOR_LONG);
  if (isProved) return { evidence: null, twin: observed(before, heardAt, at) };
  return { evidence: { ...before, readAt: at, heardAt: null, rounds: rounds + 1 }, twin: null };
}

const observed = ({ cut, offSince }: PowerEvidence, heardAt: Instant, at: Instant): string =>
  `${cut ? 'the appliance switched its machine off, and its BMC has read off' : 'its BMC has read off'} since ` +
  `${instantText(offSince)}, but a request with its credentials came at ${instantText(heardAt)}, and at ${instantText(at)} ` +
  `the BMC still read off. ${CHECK_THE_BMC}`;

/** The two causes that look the same from here. */
export const CHECK_THE_BMC =
  'If the BMC address of the node is that of another machine, or the BMC reports a wrong power state, correct that and clear the quarantine';
