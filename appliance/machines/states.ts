// What each state means to the people and machines around it. No state lasts without a word about what it waits for.

import type { LifecycleState } from '../domain/lifecycle.ts';
import type { LifecycleEvent } from './transitions.ts';

interface StateRow {
  readonly means: string;
  readonly atPxe: string;
  readonly waitsFor: string;
  /** Minutes until the `deadline` event; `profile`: as long as the profile allows; null: it may last. */
  readonly deadline: number | 'profile' | null;
  readonly nextStep: string;
  /** What it means for the state when an effect it depends on cannot be done. Null: it is recorded and changes nothing. */
  readonly ifEffectFails: LifecycleEvent | null;
}

export const STATES: Readonly<Record<LifecycleState, StateRow>> = {
  discovered: {
    means: 'seen, not accepted',
    atPxe: 'service OS in inspect mode, or nothing (`unknown` policy of the network)',
    waitsFor: 'It waits for an operator to accept or dismiss it.',
    deadline: null,
    nextStep: 'Compare MAC and serial with the delivery note; accept it, or remove it from the list.',
    ifEffectFails: null,
  },
  registered: {
    means: 'accepted, not commissioned',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to commission it.',
    deadline: null,
    nextStep: 'Commission it; nothing on its disks is touched by that.',
    ifEffectFails: null,
  },
  commissioning: {
    means: 'facts and tests in the service OS',
    atPxe: 'service OS',
    waitsFor: 'It waits for the service OS to report facts and test results.',
    deadline: 20,
    nextStep: 'Watch its screen: no DHCP request means cabling or boot order, a shell means the report cannot get out.',
    ifEffectFails: 'commission-failed',
  },
  ready: {
    means: 'free for deployment',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to deploy it.',
    deadline: null,
    nextStep: 'Deploy a profile to it, or retire it.',
    ifEffectFails: null,
  },
  deploying: {
    means: 'an armed intent is being carried out',
    atPxe: 'installer, once',
    waitsFor: 'It waits for the installer to report that the disk is written.',
    deadline: 'profile',
    nextStep: 'Let it finish or run into its deadline; to stop it now, cancel it.',
    ifEffectFails: 'install-failed',
  },
  enrolling: {
    means: 'installed, first boot, not yet enrolled',
    atPxe: 'local disk',
    waitsFor: 'It waits for the installed system to start and enroll with its one-time token.',
    deadline: 15,
    nextStep:
      'Check that it starts from its disk and reaches the node API; a failed enrollment needs no new installation.',
    ifEffectFails: 'enroll-failed',
  },
  active: {
    means: 'enrolled and heard from',
    atPxe: 'local disk',
    waitsFor: 'It waits for nothing; without a heartbeat for 5 minutes its health is silent.',
    deadline: null,
    nextStep: 'Drain it before anything that interrupts its work.',
    ifEffectFails: null,
  },
  draining: {
    means: 'workload leaves',
    atPxe: 'local disk',
    waitsFor: 'It waits for the node to say that its workload has left.',
    deadline: 30,
    nextStep:
      'Make room elsewhere so that the workload can move; say drained yourself where the node cannot; or undrain it.',
    ifEffectFails: 'drain-failed',
  },
  releasing: {
    means: 'disks are erased',
    atPxe: 'service OS, with an erase intent',
    waitsFor: 'It waits for the service OS to report that the disks are erased.',
    deadline: 60,
    nextStep: 'Let it finish: an erasure that is cut off leaves disks half erased, and has to be done again.',
    ifEffectFails: 'erase-failed',
  },
  rescue: {
    means: 'an operator asked for it',
    atPxe: 'service OS with SSH',
    waitsFor: 'It waits for the operator to finish.',
    deadline: 240,
    nextStep: 'End the rescue when done; it ends by itself at the deadline.',
    ifEffectFails: null,
  },
  retired: {
    means: 'kept, not assignable',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to reactivate, release or remove it.',
    deadline: null,
    nextStep: 'Reactivate it to use it again; release it to erase it; remove it when it leaves for good.',
    ifEffectFails: null,
  },
  failed: {
    means: 'a step failed; it names the step and the reason',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to deal with the reason that it names.',
    deadline: null,
    nextStep: 'Remove the cause, then ask for the same step again; or rescue it to look inside.',
    ifEffectFails: null,
  },
  quarantined: {
    means: 'not trusted',
    atPxe: 'a refusal that explains itself',
    waitsFor: 'It waits for an operator to find out why it is not what it claims to be.',
    deadline: null,
    nextStep: 'Compare chassis, MACs and serial with the inventory; clear the quarantine only when they agree.',
    ifEffectFails: null,
  },
  removed: {
    means: 'terminal; its identity is dead',
    atPxe: 'a refusal that explains itself',
    waitsFor: 'It waits for nothing: its row and its audit trail stay.',
    deadline: null,
    nextStep: 'Register it as a new machine if it ever comes back.',
    ifEffectFails: null,
  },
};

/** For a deployment whose profile is no longer there to say: every deployment ends. */
export const DEPLOY_MINUTES_WITHOUT_PROFILE = 60;
