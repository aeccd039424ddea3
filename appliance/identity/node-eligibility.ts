// What a node may do on the node API now: the rights of its state, and of the step that failed.

import { failedTo, type Lifecycle } from '../domain/lifecycle.ts';
import { RIGHTS_AFTER_FAILURE, STATES } from '../domain/states.ts';

export interface NodeEligibility {
  /** Use the token of a bundle. */
  readonly enroll: boolean;
  /** Get the next certificate for the one it has, or with its recovery token for one that has ended. */
  readonly renew: boolean;
  readonly tasks: boolean;
  /** What it is told where something is refused. */
  readonly because: string;
}

export function standingOf(lifecycle: Lifecycle): NodeEligibility {
  const because = `this node is ${lifecycle.state}`;
  if (failedTo('enroll', lifecycle)) return { ...RIGHTS_AFTER_FAILURE.enroll, because };
  if (failedTo('drain', lifecycle)) return { ...RIGHTS_AFTER_FAILURE.drain, because };
  return { ...STATES[lifecycle.state].node, because };
}
