// An onboarding run: one host from a request of five fields to an enrolled node. The run is a record; what happens next is decided from
// it, from what is observed, and from the policy of its site and profile (onboarding/decide-run.ts).

import type { Actor } from './event.ts';
import type { Instant } from './instant.ts';
import type { Ipv4, Prefix } from './ipv4.ts';
import type { BmcEndpoint, MachineId } from './machine.ts';
import type { Hostname, ObjectName } from './names.ts';
import type { Branded } from './parsed.ts';

export type OnboardingId = Branded<string, 'OnboardingId'>;

/** What an operator asks for. Everything else is policy. */
export interface OnboardingRequest {
  readonly site: ObjectName;
  readonly profile: ObjectName;
  readonly sku: ObjectName;
  readonly hostname: Hostname;
  readonly bmcAddress: Ipv4;
}

/**
 * What a failure is about, from evidence.
 *   datasource      the installed system did not find, or could not read, its first configuration
 *   site-bootstrap  the script of the site failed at the first boot
 *   node-bootstrap  the part that installs the agent failed at the first boot
 *   enrollment      the agent runs, and was not accepted
 *   unknown         no evidence says what it is about
 */
export const FAILURE_CLASSES = [
  'datasource',
  'network',
  'image',
  'disk',
  'bmc',
  'power',
  'site-bootstrap',
  'node-bootstrap',
  'enrollment',
  'unknown',
] as const;
export type FailureClass = (typeof FAILURE_CLASSES)[number];

/** In order. Each has a deadline, and ends with a reason when it fails. */
export const ONBOARDING_STEPS = [
  'preflight',
  'discover',
  'commission',
  'predeploy',
  'deploy',
  'enroll',
  'verify',
] as const;
export type OnboardingStep = (typeof ONBOARDING_STEPS)[number];

export const ONBOARDING_STATES = ['awaiting-confirmation', 'running', 'completed', 'failed', 'cancelled'] as const;
export type OnboardingState = (typeof ONBOARDING_STATES)[number];

export const isOpen = (state: OnboardingState): boolean => state === 'awaiting-confirmation' || state === 'running';

/** What a run does through its provider. Each has an id, so that repeating it after a crash has no second effect. */
export const ONBOARDING_ACTIONS = [
  'check-preflight',
  'adopt',
  'create',
  'boot',
  'claim',
  'commission',
  'check-predeploy',
  'deploy',
  'abort',
  'return-to-ready',
] as const;
export type OnboardingAction = (typeof ONBOARDING_ACTIONS)[number];

/** One visit of a step. */
export interface StepRecord {
  readonly step: OnboardingStep;
  readonly attempt: number;
  readonly startedAt: Instant;
  readonly deadline: Instant;
  readonly endedAt: Instant | null;
  readonly outcome: 'running' | 'done' | 'skipped' | 'failed' | 'cancelled';
  /** Null while it runs, and when there is nothing to say. */
  readonly reason: string | null;
}

export interface OnboardingFailure {
  readonly step: OnboardingStep;
  readonly attempt: number;
  readonly at: Instant;
  readonly class: FailureClass;
  /** The id of the cause of the diagnosis; null: no cause was found. */
  readonly cause: string | null;
  readonly reason: string;
  /** The machines that it could have been, where there were several. */
  readonly candidates: readonly string[];
}

/** What happens between a failed attempt and the next: work is stopped, the machine is made ready, then the step is repeated. */
export interface PendingRetry {
  readonly from: OnboardingStep;
  readonly failure: OnboardingFailure;
}

export interface Onboarding {
  readonly id: OnboardingId;
  /** The same in every event of the run, from the request to the last one. */
  readonly correlationId: string;
  readonly request: OnboardingRequest;
  readonly provider: string;
  readonly state: OnboardingState;
  readonly requestedBy: Actor;
  readonly createdAt: Instant;
  readonly confirmedBy: Actor | null;
  /** Cancelled by a person; the run ends when its work has stopped. */
  readonly cancel: { readonly by: Actor; readonly at: Instant; readonly note: string | null } | null;
  /** 1 for the first; each retry counts one more. */
  readonly attempt: number;
  /** Retries that the policy allowed so far; a retry of a person starts again at 0. */
  readonly retries: number;
  readonly steps: readonly StepRecord[];
  /** The actions that are done in the current step. */
  readonly done: readonly OnboardingAction[];
  /** The action that was begun: it is repeated after a crash. Null: none. */
  readonly doing: OnboardingAction | null;
  /** Failed tries of this action that may succeed later, and when the next one is due. */
  readonly tries: number;
  readonly notBefore: Instant;
  /** Why it cannot go on now: something does not answer. Null, or absent in old records: nothing is in its way. */
  readonly delay?: string | null;
  readonly machine: MachineId | null;
  /** The provider's own id of the machine; null: it is not found yet. */
  readonly reference: string | null;
  /** Network boots that were requested to find the machine, and the time of the last. */
  readonly boots: number;
  readonly bootedAt: Instant | null;
  /** The provider's id of the deployment of this attempt. Completion counts only for it. */
  readonly work: string | null;
  readonly retry: PendingRetry | null;
  readonly failure: OnboardingFailure | null;
  readonly endedAt: Instant | null;
  /** Counts every change of the record; a write based on an older one is rejected. */
  readonly version: number;
}

/** What provisions the machines of runs: Coldiron itself, or an existing MAAS. */
export const PROVIDERS = ['native', 'maas'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

/** How MAAS erases disks when it releases a machine. */
export const MAAS_ERASURES = ['none', 'quick', 'secure', 'full'] as const;
export const MAAS_LAYOUTS = ['flat', 'lvm', 'bcache', 'vmfs6', 'vmfs7', 'custom', 'blank'] as const;

/** What runs through MAAS ask of it. */
export interface MaasPolicy {
  readonly enableSsh: boolean;
  /** MAAS does not write its own account into BMCs while it commissions. */
  readonly skipBmcConfig: boolean;
  /** What is deployed, as in `ubuntu/noble`; null: the default of MAAS. */
  readonly distroSeries: string | null;
  readonly hweKernel: string | null;
  /** Null: the layout that commissioning made. */
  readonly storageLayout: (typeof MAAS_LAYOUTS)[number] | null;
  /** How disks are erased when a machine is released between two attempts. */
  readonly erase: (typeof MAAS_ERASURES)[number];
  /** An erasure that takes longer counts as failed: MAAS has no limit of its own. */
  readonly eraseMinutes: number;
}

export const DEFAULT_MAAS_POLICY: MaasPolicy = {
  enableSsh: true,
  skipBmcConfig: true,
  distroSeries: null,
  hweKernel: null,
  storageLayout: null,
  erase: 'none',
  eraseMinutes: 120,
};

/** Keys of `onboarding:` in a site or a profile; those of the profile take precedence. */
export interface OnboardingSettings {
  readonly provider?: ProviderName;
  readonly maas?: Partial<MaasPolicy>;
  readonly adopt?: 'match' | 'never';
  readonly autoClaim?: boolean;
  readonly strictPxe?: boolean;
  readonly retry?: readonly FailureClass[];
  readonly retries?: number;
  readonly hardwareSync?: boolean;
  readonly siteBootstrap?: 'optional' | 'required';
  readonly discoveryMinutes?: number;
}

/** How the appliance logs in to the BMC of a machine that only its address is known of. */
export type BmcLogin = Omit<BmcEndpoint, 'address'>;

export interface SiteOnboarding extends OnboardingSettings {
  readonly bmc?: BmcLogin;
  /** Where operators may name a BMC: the appliance logs in there. Others need the role admin. */
  readonly bmcNetworks?: readonly Prefix[];
  /** What a host that is registered for MAAS is deployed with: such a request names no profile. */
  readonly maasProfile?: ObjectName;
}

export interface OnboardingPolicy {
  readonly provider: ProviderName;
  readonly maas: MaasPolicy;
  /** `match`: an existing machine with this host name, BMC address or MAC is used. `never`: only a new one. */
  readonly adopt: 'match' | 'never';
  /** The only machine that appears after the power cycle may be taken although nothing proves that it is the right one. */
  readonly autoClaim: boolean;
  /** All guards of a deployment run before the machine is commissioned, too, as far as they can. */
  readonly strictPxe: boolean;
  readonly retry: readonly FailureClass[];
  readonly retries: number;
  /** The node must report before the run is complete. */
  readonly hardwareSync: boolean;
  readonly siteBootstrap: 'optional' | 'required';
  readonly discoveryMinutes: number;
  /** The time limit of a deployment in the profile. */
  readonly deployMinutes: number;
}

export const DEFAULT_ONBOARDING = {
  provider: 'native',
  maas: DEFAULT_MAAS_POLICY,
  adopt: 'match',
  autoClaim: false,
  strictPxe: true,
  retry: ['datasource'],
  retries: 1,
  hardwareSync: false,
  siteBootstrap: 'optional',
  discoveryMinutes: 30,
} as const satisfies Omit<OnboardingPolicy, 'deployMinutes'>;

export const policyOf = (
  site: { readonly onboarding: SiteOnboarding },
  profile: { readonly onboarding: OnboardingSettings; readonly deployMinutes: number },
): OnboardingPolicy => {
  const { bmc: _login, bmcNetworks: _networks, maasProfile: _profile, ...ofSite } = site.onboarding;
  const maas = { ...DEFAULT_MAAS_POLICY, ...ofSite.maas, ...profile.onboarding.maas };
  return { ...DEFAULT_ONBOARDING, ...ofSite, ...profile.onboarding, maas, deployMinutes: profile.deployMinutes };
};

export const currentStep = ({ steps }: Pick<Onboarding, 'steps'>): StepRecord | null => steps.at(-1) ?? null;
