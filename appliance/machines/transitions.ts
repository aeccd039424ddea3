// The transitions of the lifecycle as one table: for each state and event, the next state and the effects. The types, `step`,
// the diagram and docs/lifecycle.md derive from it. What a state means is in domain/states.ts.

import type { EffectKind } from '../domain/effect.ts';
import type { FailedStep, LifecycleState } from '../domain/lifecycle.ts';

/** Conditions on a transition besides the state; `step` evaluates them. */
export const CONDITIONS = {
  'fallback-left': 'release without erasure has not been tried',
  'fallback-used': 'the disks could not be erased',
  'failed-after-commissioning': 'the failed step is not commissioning',
  'failed-to-enroll': 'the failed step is enrolling',
  'failed-to-drain': 'the failed step is draining',
  'failed-to-install': 'the failed step is deploying or enrolling',
  'retired-from-service': 'it was ready or active before it was retired',
} as const;
export type Condition = keyof typeof CONDITIONS;

export interface TransitionRow {
  readonly from: LifecycleState;
  readonly event: string;
  readonly if?: Condition;
  /** `resume`: the remembered state, or registered when none is remembered. */
  readonly to: LifecycleState | 'resume';
  /** Run in this order after the transition is committed. */
  readonly effects: readonly EffectKind[];
  /** Its certificates and tokens are revoked in the same commit. */
  readonly revokesIdentity?: true;
  /** The step that failed. Into quarantine: the interrupted step, which stays failed afterwards. With `resume` to `failed`: the failed step. */
  readonly fails?: FailedStep;
  /** The state that a later `resume` returns to; `resume`: keep the state that was remembered before. */
  readonly remember?: LifecycleState | 'resume';
}

/**
 * The first matching row decides. Four rules of the table:
 *   - An intent lives from the transition that arms it to the next one: every other transition revokes it in the same commit.
 *   - A release keeps the node's identity until its erase intent is consumed: before that it can be cancelled without a trace.
 *   - A failed step does not change the power of the machine: the technician needs what its screen shows.
 *   - The installer restarts into the new system by itself, so `installed` does not change the power.
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
  { from: 'registered', event: 'enroll', to: 'enrolling', effects: [], remember: 'registered' },
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
  { from: 'commissioning', event: 'boot-failed', to: 'failed', effects: [], fails: 'commission' },
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

  // Its disk is written: an enrollment that is cancelled has failed.
  { from: 'deploying', event: 'installed', to: 'enrolling', effects: [], remember: 'failed' },
  { from: 'deploying', event: 'install-failed', to: 'failed', effects: [], fails: 'deploy' },
  { from: 'deploying', event: 'boot-failed', to: 'failed', effects: [], fails: 'deploy' },
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
  // Its token is revoked: after a cancel the system on its disk must not become a node by itself.
  { from: 'enrolling', event: 'cancel', to: 'resume', effects: [], fails: 'enroll', revokesIdentity: true },
  {
    from: 'enrolling',
    event: 'deploy',
    to: 'deploying',
    effects: ['boot-from-network'],
    revokesIdentity: true,
    remember: 'failed',
  },
  // Its token stays valid: after the rescue it starts from its disk and enrolls.
  { from: 'enrolling', event: 'rescue', to: 'rescue', effects: ['boot-from-network'], remember: 'enrolling' },
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
  // Not without erasure: nothing is wrong with the disks, and a second attempt can erase them.
  { from: 'releasing', event: 'boot-failed', to: 'failed', effects: [], fails: 'release' },
  {
    from: 'releasing',
    event: 'deadline',
    if: 'fallback-left',
    to: 'releasing',
    effects: ['release-without-erase'],
    remember: 'resume',
  },
  { from: 'releasing', event: 'deadline', to: 'failed', effects: [], fails: 'release' },
  // Nothing was erased and its identity is valid: it returns to its earlier state and boots from its disk.
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
  // A released machine is ready. Without the condition, retire and release would skip commissioning or leave quarantine.
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
  {
    from: 'failed',
    event: 'enroll',
    if: 'failed-to-enroll',
    to: 'enrolling',
    effects: [],
    remember: 'failed',
  },
  // Nothing of the failed installation may go on: its token is revoked, and its machine is switched off.
  {
    from: 'failed',
    event: 'mark-fixed',
    if: 'failed-to-install',
    to: 'ready',
    effects: ['power-off'],
    revokesIdentity: true,
  },
  // It enrolled after the deadline with a token that is still valid. The deadline only asks an operator to look.
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

  // Retiring does not end a quarantine: `reactivate` returns to it.
  { from: 'quarantined', event: 'clear-quarantine', to: 'resume', effects: [] },
  { from: 'quarantined', event: 'retire', to: 'retired', effects: [], remember: 'quarantined' },
] as const satisfies readonly TransitionRow[];

export type LifecycleEvent = (typeof TABLE)[number]['event'];

export const TRANSITIONS: readonly (TransitionRow & { readonly event: LifecycleEvent })[] = TABLE;

/** Who reports the event, and what it means. */
export const EVENTS = {
  accept: { by: 'operator', means: 'the machine belongs to this site' },
  commission: { by: 'operator', means: 'gather facts and test the hardware' },
  commissioned: { by: 'machine', means: 'facts were reported and the tests passed' },
  'commission-failed': { by: 'machine', means: 'no facts, or a test failed' },
  deploy: { by: 'operator', means: 'install the profile; an intent is armed' },
  installed: { by: 'machine', means: 'the installer wrote the disk' },
  'install-failed': { by: 'machine', means: 'the installer failed' },
  cancel: {
    by: 'operator',
    means: 'cancel it before anything was written; or cancel an enrollment, and revoke its token',
  },
  'break-off': { by: 'appliance', means: 'it was cancelled after it began; disks may be partly written' },
  'boot-failed': { by: 'machine', means: 'its boot loader could not start what it was sent' },
  enroll: { by: 'operator', means: 'a bootstrap bundle is issued for a system that is already installed' },
  enrolled: { by: 'machine', means: 'the node has its certificate' },
  'enroll-failed': { by: 'machine', means: 'the node was rejected or gave up' },
  drain: { by: 'operator', means: 'move the workload to other nodes' },
  undrain: { by: 'operator', means: 'accept workload again' },
  drained: { by: 'machine', means: 'the workload has moved away' },
  'drain-failed': { by: 'machine', means: 'the workload cannot move away' },
  release: { by: 'operator', means: 'erase the disks; an intent is armed' },
  released: { by: 'machine', means: 'the disks are erased' },
  'released-unerased': { by: 'appliance', means: 'released, but the disks keep their data' },
  'erase-failed': { by: 'machine', means: 'the disks could not be erased' },
  'mark-fixed': { by: 'operator', means: 'the cause of a failed installation is fixed; the node is free again' },
  rescue: { by: 'operator', means: 'start the service OS with SSH' },
  'rescue-ended': { by: 'operator', means: 'go back to the installed system' },
  retire: { by: 'operator', means: 'keep it, but assign nothing to it' },
  reactivate: { by: 'operator', means: 'put it back into service' },
  remove: { by: 'operator', means: 'delete it permanently' },
  quarantine: { by: 'operator', means: 'stop trusting it; the appliance does this when the chassis does not match' },
  'clear-quarantine': { by: 'operator', means: 'trust it again' },
  deadline: { by: 'appliance', means: 'the state has lasted longer than its time limit' },
} as const satisfies Readonly<Record<LifecycleEvent, { by: 'operator' | 'machine' | 'appliance'; means: string }>>;

/** Where `resume` goes when no state is remembered: only one is stored, and two interruptions may follow each other. */
export const RESUME_UNKNOWN: LifecycleState = 'registered';

/** Every state that `resume` out of this one can lead to. */
export function resumeTargets(state: LifecycleState): Set<LifecycleState> {
  const remembered = TRANSITIONS.filter((row) => row.to === state && row.from !== state).flatMap((row) => {
    if (row.remember === undefined) return [];
    return row.remember === 'resume' ? [...resumeTargets(row.from)] : [row.remember];
  });
  return new Set([...remembered, RESUME_UNKNOWN]);
}
