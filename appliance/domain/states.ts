// What each lifecycle state means, in one table: how its machine boots, which session it runs, what its node may do, and how
// operators see it described. The rest of the code reads the table, so a new state is a row here and its transitions in
// machines/transitions.ts. It is in domain/ because every layer above needs it.

import type { IntentKind } from './intent.ts';
import type { SessionMode } from './session.ts';

/** Events that report a failed step. Each is an event of machines/transitions.ts. */
type FailureEvent = 'commission-failed' | 'install-failed' | 'enroll-failed' | 'drain-failed' | 'erase-failed';

/** Why a state boots as it does. {node}, {at}, {note}, {why} and {failure} are filled in by the boot decision. */
interface BootReason {
  readonly words: string;
  /** What a person can do; empty when there is nothing to do. */
  readonly hint: string;
}

type StateBoot =
  | ({ readonly into: 'local-disk' | 'refusal' } & BootReason)
  | ({ readonly into: 'service-os'; readonly mode: 'commission' | 'rescue' } & BootReason)
  /** The `unknown` setting of its network decides, as for a machine that was never seen. */
  | { readonly into: 'network-policy' }
  /** Work that destroys data, allowed by an armed intent of this kind; without a valid one, its own disk. */
  | { readonly into: 'armed-work'; readonly intent: IntentKind };

interface StateSession {
  readonly mode: Exclude<SessionMode, 'inspect'>;
  /** The events that its outcome reports; null: the outcome changes nothing. */
  readonly succeeded: 'commissioned' | 'installed' | 'released' | null;
  readonly failed: FailureEvent | null;
}

/** What its node may do on the node API. */
interface NodeRights {
  /** Use the token of a bundle. */
  readonly enroll: boolean;
  /** Get the next certificate for the one it has, or with its recovery token for one that has expired. */
  readonly renew: boolean;
  readonly tasks: boolean;
}

interface StateMeaning {
  readonly means: string;
  /** What it gets when it boots from the network, for docs/lifecycle.md. */
  readonly atPxe: string;
  readonly waitsFor: string;
  readonly nextStep: string;
  /** Minutes until the `deadline` event; `profile`: as long as the profile allows; null: the state has no time limit. */
  readonly deadline: number | 'profile' | null;
  /** The event when an effect that the state depends on fails. Null: the failure is recorded and changes nothing. */
  readonly ifEffectFails: FailureEvent | null;
  readonly boots: StateBoot;
  /** The session that does the work of the state. Null: it runs none. */
  readonly session: StateSession | null;
  /** A late `revoke-intents` effect keeps an intent that was armed after the machine entered the state. */
  readonly keepsNewerIntent: boolean;
  readonly cancellable: boolean;
  readonly node: NodeRights;
  /** A bundle may be issued. While quarantined, its node can use it only after the quarantine. */
  readonly bundle: boolean;
  /** `possible`: issuing a bundle starts it. `awaited`: the node must enroll now. `done`: the installed system has enrolled. */
  readonly enrollment: 'none' | 'possible' | 'awaited' | 'done';
  /** It counts as a node of its site and cluster, for example in the files of other nodes. */
  readonly inService: boolean;
  /** It is removed when its inventory file no longer declares it. False: it is in use. */
  readonly removableByInventory: boolean;
  /** Entering the state keeps the note of the state before. */
  readonly keepsNote: boolean;
  /** Entering the state starts the work again, so an earlier failure is deleted. */
  readonly clearsFailure: boolean;
}

const NO_RIGHTS = { enroll: false, renew: false, tasks: false } as const satisfies NodeRights;
/** It keeps its identity and may do nothing else. */
const IDENTITY_ONLY = { enroll: false, renew: true, tasks: false } as const satisfies NodeRights;
const MAY_ENROLL = { enroll: true, renew: true, tasks: false } as const satisfies NodeRights;
const ALL_RIGHTS = { enroll: true, renew: true, tasks: true } as const satisfies NodeRights;

/** What most states have in common: nothing runs, and nothing is armed. */
const IDLE = {
  deadline: null,
  ifEffectFails: null,
  session: null,
  keepsNewerIntent: false,
  cancellable: false,
  bundle: false,
  enrollment: 'none',
  inService: true,
  removableByInventory: false,
  keepsNote: false,
  clearsFailure: false,
} as const satisfies Partial<StateMeaning>;

/** In the order of a machine's life. */
export const STATES = {
  discovered: {
    ...IDLE,
    means: 'seen on the network, not accepted',
    atPxe: 'service OS in inspect mode, or nothing (`unknown` policy of the network)',
    waitsFor: 'It waits for an operator to accept or remove it.',
    nextStep: 'Compare its MAC and serial number with the delivery note; then accept or remove it.',
    boots: { into: 'network-policy' },
    node: NO_RIGHTS,
    inService: false,
    removableByInventory: true,
  },
  registered: {
    ...IDLE,
    means: 'accepted, not commissioned',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to commission it.',
    nextStep: 'Commission it. This does not change its disks.',
    boots: {
      into: 'local-disk',
      words: '{node} is registered but not commissioned, so it boots from its own disk',
      hint: 'Commission it: coldiron commission {node}',
    },
    keepsNewerIntent: true,
    node: IDENTITY_ONLY,
    bundle: true,
    enrollment: 'possible',
    removableByInventory: true,
  },
  commissioning: {
    ...IDLE,
    means: 'the service OS collects facts and tests the hardware',
    atPxe: 'service OS',
    waitsFor: 'It waits for the service OS to report facts and test results.',
    nextStep:
      'Watch its screen. No DHCP request: check cabling and boot order. A shell prompt: the service OS cannot send its report.',
    deadline: 20,
    ifEffectFails: 'commission-failed',
    boots: {
      into: 'service-os',
      mode: 'commission',
      words: '{node} is being commissioned: the service OS reports its facts and tests it',
      hint: '',
    },
    session: { mode: 'commission', succeeded: 'commissioned', failed: 'commission-failed' },
    cancellable: true,
    node: IDENTITY_ONLY,
    clearsFailure: true,
  },
  ready: {
    ...IDLE,
    means: 'free for deployment',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to deploy it.',
    nextStep: 'Deploy a profile to it, or retire it.',
    boots: {
      into: 'local-disk',
      words: '{node} is ready and nothing is to be installed, so it boots from its own disk',
      hint: 'Install it: coldiron deploy {node}',
    },
    keepsNewerIntent: true,
    node: IDENTITY_ONLY,
    removableByInventory: true,
  },
  deploying: {
    ...IDLE,
    means: 'the installer writes its disk, allowed by an armed intent',
    atPxe: 'installer, once',
    waitsFor: 'It waits for the installer to report that the disk is written.',
    nextStep: 'Let it finish or reach its deadline. Cancel it to stop it now.',
    deadline: 'profile',
    ifEffectFails: 'install-failed',
    boots: { into: 'armed-work', intent: 'deploy' },
    session: { mode: 'install', succeeded: 'installed', failed: 'install-failed' },
    cancellable: true,
    // The system that is being replaced must not enroll in place of the new one.
    node: IDENTITY_ONLY,
    clearsFailure: true,
  },
  enrolling: {
    ...IDLE,
    means: 'installed, not yet enrolled',
    atPxe: 'local disk',
    waitsFor: 'It waits for the installed system to start and enroll with its one-time token.',
    nextStep:
      'Check that it starts from its disk and reaches the node API. To look at the machine, rescue it; to install it again, deploy it; to stop, cancel it.',
    deadline: 15,
    ifEffectFails: 'enroll-failed',
    boots: {
      into: 'local-disk',
      words: '{node} is installed and boots from its own disk to enroll',
      hint: '',
    },
    cancellable: true,
    node: MAY_ENROLL,
    bundle: true,
    enrollment: 'awaited',
    clearsFailure: true,
  },
  active: {
    ...IDLE,
    means: 'enrolled and in service',
    atPxe: 'local disk',
    waitsFor: 'It waits for nothing. After 5 minutes without a heartbeat its health is silent.',
    nextStep: 'Drain it before you interrupt its work.',
    boots: { into: 'local-disk', words: '{node} is in service and boots from its own disk', hint: '' },
    keepsNewerIntent: true,
    node: ALL_RIGHTS,
    bundle: true,
    enrollment: 'done',
  },
  draining: {
    ...IDLE,
    means: 'its workload moves away',
    atPxe: 'local disk',
    waitsFor: 'It waits for the node to report that its workload has moved away.',
    nextStep:
      'Make room on other nodes so that the workload can move. If the node cannot report it, run `coldiron drained NODE`. To stop, undrain it.',
    deadline: 30,
    ifEffectFails: 'drain-failed',
    boots: {
      into: 'local-disk',
      words: '{node} is being drained and boots from its own disk meanwhile',
      hint: '',
    },
    // Another system must not take its place while its workload moves away.
    node: { enroll: false, renew: true, tasks: true },
    enrollment: 'done',
  },
  releasing: {
    ...IDLE,
    means: 'the service OS erases its disks, allowed by an armed intent',
    atPxe: 'service OS, with an erase intent',
    waitsFor: 'It waits for the service OS to report that the disks are erased.',
    nextStep: 'Let it finish. An interrupted erasure leaves disks partly erased and must be repeated.',
    deadline: 60,
    ifEffectFails: 'erase-failed',
    boots: { into: 'armed-work', intent: 'erase' },
    session: { mode: 'erase', succeeded: 'released', failed: 'erase-failed' },
    cancellable: true,
    node: NO_RIGHTS,
  },
  rescue: {
    ...IDLE,
    means: 'an operator works in the service OS',
    atPxe: 'service OS with SSH',
    waitsFor: 'It waits for the operator to finish.',
    nextStep: 'End the rescue when you are done. It ends by itself at the deadline.',
    deadline: 240,
    boots: {
      into: 'service-os',
      mode: 'rescue',
      words: 'an operator asked for the rescue system on {node}',
      hint: '',
    },
    session: { mode: 'rescue', succeeded: null, failed: null },
    node: IDENTITY_ONLY,
  },
  retired: {
    ...IDLE,
    means: 'kept, not assignable',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to reactivate, release or remove it.',
    nextStep: 'Reactivate it to use it again, release it to erase its disks, or remove it to delete it permanently.',
    boots: {
      into: 'local-disk',
      words: '{node} is retired, so it boots from its own disk',
      hint: 'Bring it back: coldiron reactivate {node}',
    },
    // It keeps its identity because it may be reactivated.
    node: MAY_ENROLL,
    bundle: true,
    inService: false,
    removableByInventory: true,
    keepsNote: true,
  },
  failed: {
    ...IDLE,
    means: 'a step failed; the step and the reason are recorded',
    atPxe: 'local disk',
    waitsFor: 'It waits for an operator to fix the cause of the failure.',
    nextStep: 'Fix the cause and repeat the step, or start a rescue to look at the machine.',
    boots: {
      into: 'local-disk',
      words: '{node} failed ({failure}), so it boots from its own disk',
      hint: 'Read what happened: coldiron diagnose {node}',
    },
    keepsNewerIntent: true,
    // What RIGHTS_AFTER_FAILURE adds depends on the step.
    node: IDENTITY_ONLY,
  },
  quarantined: {
    ...IDLE,
    means: 'not trusted',
    atPxe: 'a refusal with the reason',
    waitsFor: 'It waits for an operator to find out why it does not match the inventory.',
    nextStep:
      'Compare its chassis, MACs and serial number with the inventory. Clear the quarantine only when they match.',
    boots: {
      into: 'refusal',
      words: '{node} is quarantined: {note}',
      hint: 'Resolve the cause, then clear the quarantine of {node}.',
    },
    // A certificate that expires in quarantine is replaced with the recovery token after the quarantine is cleared.
    node: NO_RIGHTS,
    bundle: true,
    keepsNote: true,
  },
  removed: {
    ...IDLE,
    means: 'deleted permanently; its identity is revoked',
    atPxe: 'a refusal with the reason',
    waitsFor: 'It waits for nothing. Its record and its audit trail are kept.',
    nextStep: 'Register it as a new machine if you want to use it again.',
    boots: {
      into: 'refusal',
      words: '{node} was removed at {at}{why}, and its identity is revoked',
      hint: 'To use it again, declare it as a new node in an inventory file: coldiron apply FILE',
    },
    node: NO_RIGHTS,
    inService: false,
    removableByInventory: true,
  },
} as const satisfies Readonly<Record<string, StateMeaning>>;

/** The rights of a failed node whose step leaves it more than its identity. */
export const RIGHTS_AFTER_FAILURE = {
  enroll: MAY_ENROLL,
  drain: ALL_RIGHTS,
} as const satisfies Readonly<Record<string, NodeRights>>;

/** The time limit of a deployment whose profile no longer exists. */
export const DEPLOY_MINUTES_WITHOUT_PROFILE = 60;
