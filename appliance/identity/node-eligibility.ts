// What a node may do on the node API: the rights of its state, or of the step that failed.

import { failedTo, type Lifecycle } from '../domain/lifecycle.ts';
import { RIGHTS_AFTER_FAILURE, STATES } from '../domain/states.ts';

export interface NodeEligibility {
  /** May redeem the token of a bundle. */
  readonly enroll: boolean;
  /** May renew its certificate, or replace an expired one with its recovery token. */
  readonly renew: boolean;
  readonly tasks: boolean;
  /** The reason in refusals. */
  readonly because: string;
}

/** Whether a bundle may be issued to a node in this state. */
export function mayGetBundle(lifecycle: Lifecycle): boolean {
  return STATES[lifecycle.state].bundle || (lifecycle.state === 'failed' && eligibilityOf(lifecycle).enroll);
}

export function eligibilityOf(lifecycle: Lifecycle): NodeEligibility {
  const because = `this node is ${lifecycle.state}`;
  if (failedTo('enroll', lifecycle)) return { ...RIGHTS_AFTER_FAILURE.enroll, because };
  if (failedTo('drain', lifecycle)) return { ...RIGHTS_AFTER_FAILURE.drain, because };
  return { ...STATES[lifecycle.state].node, because };
}
