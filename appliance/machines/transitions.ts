// The machine's life as one table: what may happen in each state, where it leads and what it makes us do. Everything that
// is said about the lifecycle elsewhere (types, step, diagram, documentation) comes from here.

import type { EffectKind } from '../domain/effect.ts';
import type { FailedStep, LifecycleState } from '../domain/lifecycle.ts';

/** What must hold besides the state; `step` knows how to find out. */
export const CONDITIONS = {
  'fallback-left': 'releasing without erasure has not been tried',
  'fallback-used': 'erasing was given up',
  'failed-after-commissioning': 'what failed was not commissioning',
  'failed-to-enroll': 'what failed was enrolling',
  'failed-to-drain': 'what failed was draining',
  'retired-from-service': 'it was ready or active before it was retired',
} as const;
export type Condition = keyof typeof CONDITIONS;

export interface TransitionRow {
  readonly from: LifecycleState;
  readonly event: string;
  readonly if?: Condition;
  /** `resume`: back to what was remembered, or to registered when nothing is known any more. */
  readonly to: LifecycleState | 'resume';
  /** In this order, after the transition is on disk. */
  readonly effects: readonly EffectKind[];
  /** Its certificates and tokens are revoked in the same commit. */
  readonly revokesIdentity?: true;
  /** The step that has failed. On the way into quarantine: the step that was broken off, and stays failed afterwards. With `resume`: what it goes back to failed with. */
  readonly fails?: FailedStep;
  /** What a later `resume` goes back to; `resume`: what was remembered before stays remembered. */
  readonly remember?: LifecycleState | 'resume';
}

/**
 * The first row that fits decides. Four habits of the table:
 *   - An intent lives from the transition that arms it to the next one: every other transition revokes it in the same commit.
 *   - A release keeps the node's identity until its erase intent is consumed: before that it can be cancelled without a trace.
 *   - A failed step leaves the machine as it is: what its screen shows is what the technician needs.
 *   - The installer restarts into the new system by itself, so `installed` touches no power.
 */
const TABLE = [
  { from: 'discovered', event: 'accept', to: 'registered', effects: [] },
  { from: 'discovered', event: 'remove', to: 'removed', effects: [], revokesIdentity: true },
  {
    from: 'discovered',
    event: 'quarantine',
    to: 'quarantined',
    effects: [],
    remember: 'discovered',
  },

  {
    from: 'registered',
    event: 'commission',
    to: 'commissioning',
    effects: ['boot-from-network'],
    remember: 'registered',
  },
  { from: 'registered', event: 'enroll', to: 'enrolling', effects: [] },
  { from: 'registered', event: 'rescue', to: 'rescue', effects: ['boot-from-network'], remember: 'registered' },
  { from: 'registered', event: 'retire', to: 'retired', effects: [], remember: 'registered' },
  {
    from: 'registered',
    event: 'quarantine',
    to: 'quarantined',
    effects: [],
    remember: 'registered',
  },

  { from: 'commissioning', event: 'commissioned', to: 'ready', effects: ['power-off'] },
  { from: 'commissioning', event: 'commission-failed', to: 'failed', effects: [], fails: 'commission' },
  { from: 'commissioning', event: 'deadline', to: 'failed', effects: [], fails: 'commission' },
  { from: 'commissioning', event: 'cancel', to: 'resume', effects: ['power-off'], fails: 'commission' },
  {
    from: 'commissioning',
    event: 'quarantine',
    to: 'quarantined',
    effects: [],
    fails: 'commission',
    remember: 'failed',
  },

  { from: 'ready', event: 'deploy', to: 'deploying', effects: ['boot-from-network'], remember: 'ready' },
  { from: 'ready', event: 'commission', to: 'commissioning', effects: ['boot-from-network'], remember: 'ready' },
  { from: 'ready', event: 'release', to: 'releasing', effects: ['boot-from-network'], remember: 'ready' },
  { from: 'ready', event: 'rescue', to: 'rescue', effects: ['boot-from-network'], remember: 'ready' },
  { from: 'ready', event: 'retire', to: 'retired', effects: [], remember: 'ready' },
  { from: 'ready', event: 'quarantine', to: 'quarantined', effects: [], remember: 'ready' },

  { from: 'deploying', event: 'installed', to: 'enrolling', effects: [] },
  { from: 'deploying', event: 'install-failed', to: 'failed', effects: [], fails: 'deploy' },
  { from: 'deploying', event: 'deadline', to: 'failed', effects: [], fails: 'deploy' },
  { from: 'deploying', event: 'cancel', to: 'resume', effects: ['power-off'], fails: 'deploy' },
  { from: 'deploying', event: 'break-off', to: 'failed', effects: [], fails: 'deploy' },
  {
    from: 'deploying',
    event: 'quarantine',
    to: 'quarantined',
    effects: [],
    fails: 'deploy',
    remember: 'failed',
  },

  { from: 'enrolling', event: 'enrolled', to: 'active', effects: [] },
  { from: 'enrolling', event: 'enroll-failed', to: 'failed', effects: [], fails: 'enroll' },
  { from: 'enrolling', event: 'deadline', to: 'failed', effects: [], fails: 'enroll' },
  {
    from: 'enrolling',
    event: 'quarantine',
    to: 'quarantined',
    effects: [],
    fails: 'enroll',
    remember: 'failed',
  },

  { from: 'active', event: 'drain', to: 'draining', effects: [] },
  { from: 'active', event: 'release', to: 'releasing', effects: ['boot-from-network'], remember: 'active' },
  { from: 'active', event: 'rescue', to: 'rescue', effects: ['boot-from-network'], remember: 'active' },
  { from: 'active', event: 'retire', to: 'retired', effects: [], remember: 'active' },
  { from: 'active', event: 'quarantine', to: 'quarantined', effects: [], remember: 'active' },

  { from: 'draining', event: 'drained', to: 'retired', effects: [], remember: 'active' },
  { from: 'draining', event: 'undrain', to: 'active', effects: [] },
  { from: 'draining', event: 'drain-failed', to: 'failed', effects: [], fails: 'drain' },
  { from: 'draining', event: 'deadline', to: 'failed', effects: [], fails: 'drain' },
  { from: 'draining', event: 'quarantine', to: 'quarantined', effects: [], remember: 'active' },

  { from: 'releasing', event: 'released', to: 'ready', effects: ['power-off'], revokesIdentity: true },
  {
    from: 'releasing',
    event: 'released-unerased',
    if: 'fallback-used',
    to: 'ready',
    effects: ['power-off'],
    revokesIdentity: true,
  },
  {
    from: 'releasing',
    event: 'erase-failed',
    if: 'fallback-left',
    to: 'releasing',
    effects: ['release-without-erase'],
    remember: 'resume',
  },
  { from: 'releasing', event: 'erase-failed', to: 'failed', effects: [], fails: 'release' },
  {
    from: 'releasing',
    event: 'deadline',
    if: 'fallback-left',
    to: 'releasing',
    effects: ['release-without-erase'],
    remember: 'resume',
  },
  { from: 'releasing', event: 'deadline', to: 'failed', effects: [], fails: 'release' },
  // Nothing was erased and its identity is good: it goes back to what it was, and starts from its disk again.
  { from: 'releasing', event: 'cancel', to: 'resume', effects: ['boot-from-disk'] },
  { from: 'releasing', event: 'break-off', to: 'failed', effects: [], fails: 'release' },
  {
    from: 'releasing',
    event: 'quarantine',
    to: 'quarantined',
    effects: [],
    fails: 'release',
    remember: 'failed',
  },

  { from: 'rescue', event: 'rescue-ended', to: 'resume', effects: ['boot-from-disk'] },
  { from: 'rescue', event: 'deadline', to: 'resume', effects: ['boot-from-disk'] },
  { from: 'rescue', event: 'quarantine', to: 'quarantined', effects: [], remember: 'resume' },

  { from: 'retired', event: 'reactivate', to: 'resume', effects: [] },
  // A released machine is ready: no way around commissioning, or out of quarantine, for one that had not come that far.
  {
    from: 'retired',
    event: 'release',
    if: 'retired-from-service',
    to: 'releasing',
    effects: ['boot-from-network'],
    remember: 'retired',
  },
  { from: 'retired', event: 'remove', to: 'removed', effects: [], revokesIdentity: true },
  { from: 'retired', event: 'quarantine', to: 'quarantined', effects: [], remember: 'retired' },

  { from: 'failed', event: 'commission', to: 'commissioning', effects: ['boot-from-network'], remember: 'failed' },
  {
    from: 'failed',
    event: 'deploy',
    if: 'failed-after-commissioning',
    to: 'deploying',
    effects: ['boot-from-network'],
    remember: 'failed',
  },
  { from: 'failed', event: 'enroll', if: 'failed-to-enroll', to: 'enrolling', effects: [] },
  // Late, but with a token that is still good: the deadline was there to make somebody look.
  { from: 'failed', event: 'enrolled', if: 'failed-to-enroll', to: 'active', effects: [] },
  { from: 'failed', event: 'drain', if: 'failed-to-drain', to: 'draining', effects: [] },
  { from: 'failed', event: 'undrain', if: 'failed-to-drain', to: 'active', effects: [] },
  {
    from: 'failed',
    event: 'release',
    if: 'failed-after-commissioning',
    to: 'releasing',
    effects: ['boot-from-network'],
    remember: 'failed',
  },
  { from: 'failed', event: 'rescue', to: 'rescue', effects: ['boot-from-network'], remember: 'failed' },
  { from: 'failed', event: 'retire', to: 'retired', effects: [], remember: 'failed' },
  { from: 'failed', event: 'quarantine', to: 'quarantined', effects: [], remember: 'failed' },

  // Retiring is no way out of quarantine: reactivating leads back into it.
  { from: 'quarantined', event: 'clear-quarantine', to: 'resume', effects: [] },
  { from: 'quarantined', event: 'retire', to: 'retired', effects: [], remember: 'quarantined' },
] as const satisfies readonly TransitionRow[];

export type LifecycleEvent = (typeof TABLE)[number]['event'];

export const TRANSITIONS: readonly (TransitionRow & { readonly event: LifecycleEvent })[] = TABLE;

/** Who brings the news, and what it says. */
export const EVENTS = {
  accept: { by: 'operator', means: 'the machine is ours' },
  commission: { by: 'operator', means: 'gather facts and test the hardware' },
  commissioned: { by: 'machine', means: 'facts are in, tests passed' },
  'commission-failed': { by: 'machine', means: 'facts or tests failed' },
  deploy: { by: 'operator', means: 'install the profile; an intent is armed' },
  installed: { by: 'machine', means: 'the installer wrote the disk' },
  'install-failed': { by: 'machine', means: 'the installer gave up' },
  cancel: { by: 'operator', means: 'cancel it; nothing was written' },
  'break-off': { by: 'appliance', means: 'it was cancelled after it had begun: disks may be half written' },
  enroll: { by: 'operator', means: 'a bootstrap bundle is issued for a system that is installed already' },
  enrolled: { by: 'machine', means: 'the node has its certificate' },
  'enroll-failed': { by: 'machine', means: 'the node was refused or gave up' },
  drain: { by: 'operator', means: 'let the workload leave' },
  undrain: { by: 'operator', means: 'let the workload come back' },
  drained: { by: 'machine', means: 'the workload has left' },
  'drain-failed': { by: 'machine', means: 'the workload cannot leave' },
  release: { by: 'operator', means: 'erase the disks; an intent is armed' },
  released: { by: 'machine', means: 'the disks are erased' },
  'released-unerased': { by: 'appliance', means: 'released, but the disks keep their data' },
  'erase-failed': { by: 'machine', means: 'the disks could not be erased' },
  rescue: { by: 'operator', means: 'start the service OS with SSH' },
  'rescue-ended': { by: 'operator', means: 'back to the installed system' },
  retire: { by: 'operator', means: 'keep it, assign nothing to it' },
  reactivate: { by: 'operator', means: 'take it back into service' },
  remove: { by: 'operator', means: 'strike it off for good' },
  quarantine: { by: 'operator', means: 'stop trusting it; the appliance does so on a chassis mismatch' },
  'clear-quarantine': { by: 'operator', means: 'trust it again' },
  deadline: { by: 'appliance', means: 'the state has lasted too long' },
} as const satisfies Readonly<Record<LifecycleEvent, { by: 'operator' | 'machine' | 'appliance'; means: string }>>;

/** Where `resume` goes when nothing was remembered: two interruptions in a row leave room for one memory only. */
export const RESUME_UNKNOWN: LifecycleState = 'registered';

/** Every state that `resume` out of this one can lead to. */
export function resumeTargets(state: LifecycleState): Set<LifecycleState> {
  const remembered = TRANSITIONS.filter((row) => row.to === state && row.from !== state).flatMap((row) => {
    if (row.remember === undefined) return [];
    return row.remember === 'resume' ? [...resumeTargets(row.from)] : [row.remember];
  });
  return new Set([...remembered, RESUME_UNKNOWN]);
}
