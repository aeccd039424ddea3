// What an onboarding run needs from whatever provisions its machine: Coldiron itself (providers/native) or another system. The run decides;
// a provider observes and acts. Each action has an id: called again with the same id, it has no second effect.

import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';
import type { FailureClass, Onboarding, OnboardingAction, OnboardingPolicy } from '../domain/onboarding.ts';
import type { ClassifiedFailure } from './classify-failure.ts';
import type { Candidate, NewMachine } from './discovery-order.ts';

/**
 *   new       known, not commissioned
 *   ready     commissioned and free
 *   enrolling installed, not yet enrolled
 *   active    enrolled
 *   failed    the last work failed
 *   other     none of these: somebody else uses it, or it is not trusted; `detail` says what
 */
export type MachineStage =
  | 'new'
  | 'commissioning'
  | 'ready'
  | 'deploying'
  | 'enrolling'
  | 'active'
  | 'failed'
  | 'other';

export interface ObservedMachine {
  readonly stage: MachineStage;
  /** Its state in the words of the provider, for people. */
  readonly detail: string;
  /** It would be recognized when it boots: at least one MAC address is known. */
  readonly recognizable: boolean;
  /** The provider's id of its last deployment; null: there was none. */
  readonly work: string | null;
  /** Why it stopped. Null: it has not, or nothing is known. */
  readonly failure: ClassifiedFailure | null;
  /** What a completed run still needs besides the stage, one sentence each. Empty: nothing. */
  readonly missing: readonly string[];
  /** The installed system has reported since it became active. */
  readonly reported: boolean;
}

export interface Observations {
  /** Null: the run has no machine yet, or the provider no longer has it. */
  readonly machine: ObservedMachine | null;
  /** Machines that could be the requested one. Only while the run has none. */
  readonly candidates: readonly Candidate[];
  /** Undeclared machines that appeared since the run's last network boot. Only while its machine is not recognizable. */
  readonly newMachines: readonly NewMachine[];
}

export interface Doing {
  readonly action: OnboardingAction;
  /** The machine to adopt or to claim; null: the action needs none. */
  readonly target: string | null;
}

export type ActionResult =
  | {
      readonly ok: true;
      readonly machine?: MachineId;
      readonly reference?: string;
      /** The provider's id of the deployment that was started. */
      readonly work?: string;
    }
  /** It may succeed later: a BMC or a service did not answer. */
  | { readonly ok: false; readonly later: true; readonly reason: string }
  | {
      readonly ok: false;
      readonly later: false;
      readonly class: FailureClass;
      readonly reason: string;
      readonly candidates?: readonly string[];
    };

export interface ObserveOptions {
  /** Also find out why it is stuck, not only why it failed. */
  readonly explain: boolean;
}

/** An error thrown by either method counts as a result that may succeed later. */
export interface OnboardingProvider {
  readonly name: string;
  observe(run: Onboarding, options: ObserveOptions): Promise<Observations>;
  /** `id` is the same for every repetition of this action in this attempt, and for nothing else. */
  act(run: Onboarding, doing: Doing, policy: OnboardingPolicy, id: string, now: Instant): Promise<ActionResult>;
}
