// What a node may do on the node API in each state of its life.

import type { Lifecycle, LifecycleState } from '../domain/lifecycle.ts';

export interface NodeEligibility {
  /** Use the token of a bundle. */
  readonly enroll: boolean;
  /** Get the next certificate for the one it has, or with its recovery token for one that has ended. */
  readonly renew: boolean;
  readonly tasks: boolean;
  /** What it is told where something is refused. */
  readonly because: string;
}

type Rights = Omit<NodeEligibility, 'because'>;
const NOTHING: Rights = { enroll: false, renew: false, tasks: false };
/** It keeps who it is, and nothing more. */
const IDENTITY: Rights = { enroll: false, renew: true, tasks: false };
const ALL: Rights = { enroll: true, renew: true, tasks: true };

/**
 * A retired node keeps its identity: it may be reactivated. A quarantined one is not trusted, and gets back what has ended
 * meanwhile with its recovery token once it is cleared. While a machine is installed, the system that goes must not take
 * the place of the one that comes.
 */
const RIGHTS: Readonly<Record<LifecycleState, Rights>> = {
  discovered: NOTHING,
  registered: IDENTITY,
  commissioning: IDENTITY,
  ready: IDENTITY,
  deploying: IDENTITY,
  enrolling: { enroll: true, renew: true, tasks: false },
  active: ALL,
  draining: ALL,
  releasing: NOTHING,
  rescue: IDENTITY,
  retired: { enroll: true, renew: true, tasks: false },
  failed: IDENTITY,
  quarantined: NOTHING,
  removed: NOTHING,
};

export function standingOf({ state, failure }: Lifecycle): NodeEligibility {
  const because = `this node is ${state}`;
  if (state === 'failed' && failure?.step === 'enroll') return { ...IDENTITY, enroll: true, because };
  if (state === 'failed' && failure?.step === 'drain') return { ...ALL, because };
  return { ...RIGHTS[state], because };
}

/** Its certificate is what it waits for. */
export const waitsForEnrollment = ({ state, failure }: Lifecycle): boolean =>
  state === 'enrolling' || (state === 'failed' && failure?.step === 'enroll');
