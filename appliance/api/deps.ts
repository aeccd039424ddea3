// The dependencies of the management API on the rest of the appliance.

import type { AccessKeys } from '../allocations/access-keys.ts';
import type { Allocations } from '../allocations/allocations.ts';
import type { SudoPolicies } from '../allocations/sudo-policies.ts';
import type { BootContract } from '../assets/boot-contract.ts';
import type { BmcService } from '../bmc/access/bmc-service.ts';
import type { BootResolver } from '../boot/boot-resolver.ts';
import type { Renderings } from '../deliveries/renderings.ts';
import type { ApplianceProblem } from '../domain/appliance-problem.ts';
import type { Instant } from '../domain/instant.ts';
import type { Listener } from '../domain/listener.ts';
import type { Exports } from '../export/exports.ts';
import type { EnrollmentService } from '../identity/enrollment-service.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { MachineCommands } from '../machines/execute.ts';
import type { Onboardings } from '../onboarding/onboardings.ts';
import type { Proposals } from '../proposals/proposals.ts';
import type { NodeWork } from '../provisioning/node-work.ts';
import type { Store } from '../store/store.ts';
import type { Terminals } from '../terminals/terminals.ts';
import type { RunTimes } from '../trail/run-times.ts';
import type { Authenticate } from './access.ts';
import type { App, AppEdge } from './base-app.ts';
import type { Clock } from './clock.ts';
import type { LiveFeed } from './live/live-feed.ts';
import type { RequestLedger } from './request-ledger.ts';
import type { OneTimeCodes } from './sign-in/one-time-codes.ts';
import type { SignIn } from './sign-in/sign-in.ts';
import type { WebSessions } from './sign-in/web-sessions.ts';

export type ServiceName = 'dhcp' | 'tftp' | 'http';
export type ServiceState = 'running' | 'off' | 'starting' | 'failed';
export type Services = Readonly<Record<ServiceName, ServiceState>>;

/** `hostKey`: the fingerprint of the server that would let the user in; absent: nobody asked it to. */
export type ProbeResult =
  | { readonly reached: true; readonly banner: string; readonly milliseconds: number; readonly hostKey?: string }
  | { readonly reached: false; readonly reason: string };

export interface ProbedLogin {
  readonly username: string;
  /** The public key, as in authorized_keys. */
  readonly line: string;
}

/** Whether an SSH server answers at that address, seen from the appliance, and whether it would let this user in with this key. */
export type Probe = (host: string, port: number, login: ProbedLogin | null) => Promise<ProbeResult>;

export interface MaasHosts {
  /** `service_unavailable` when MAAS does not answer, or does not have exactly one such machine. */
  find(host: string, hostname: string | null): Promise<MaasHost>;
}

export interface MaasHost {
  readonly hostname: string;
  readonly bmcAddress: string;
}

export interface ManagementDeps extends AppEdge {
  readonly store: Store;
  readonly work: Pick<NodeWork, 'cancel' | 'plain' | 'rescue' | 'deploy' | 'release' | 'rebind'>;
  readonly fleet: Fleet;
  readonly commands: Pick<MachineCommands, 'request'>;
  /** One for all listeners of the process. */
  readonly requests: RequestLedger;
  readonly authenticate: Authenticate;
  readonly signIn: SignIn;
  readonly signInCodes: OneTimeCodes;
  readonly webSessions: WebSessions;
  /** Where the web page is: the URL of the management listener. Null: it does not listen yet. */
  readonly pageUrl: () => string | null;
  /** Further routes of this listener: the web page. */
  readonly furtherRoutes?: (app: App) => void;
  readonly clock: Clock;
  readonly services: () => Services;
  readonly listeners: () => readonly Listener[];
  /** What is wrong with the appliance itself, now. */
  readonly applianceProblems: () => readonly ApplianceProblem[];
  readonly probe: Probe;
  /** The port of the boot listener, as `explain` puts it into URLs. */
  readonly bootPort: number;
  /** The boot resolver that the servers use. */
  readonly resolver: Pick<BootResolver, 'resolve'>;
  /** Fetches every advertised file from the running servers. */
  readonly bootContract: () => Promise<BootContract>;
  readonly renderings: Renderings;
  readonly enrollment: EnrollmentService;
  /** The last connection from this address to the node API; null: this process saw none. */
  readonly contactAt: (address: string) => { readonly connectedAt: Instant } | null;
  /** How long the stages of completed runs took. */
  readonly runTimes: Pick<RunTimes, 'expected'>;
  readonly exports: Pick<Exports, 'status' | 'deadLetters' | 'replay'>;
  readonly onboardings: Pick<Onboardings, 'request' | 'confirm' | 'cancel' | 'retry' | 'one' | 'list'>;
  readonly accessKeys: AccessKeys;
  readonly allocations: Allocations;
  readonly sudoPolicies: SudoPolicies;
  /** One for all listeners of the process. */
  readonly live: LiveFeed;
  readonly proposals: Pick<Proposals, 'propose' | 'find' | 'list' | 'last' | 'approve' | 'reject' | 'settle'>;
  /** Finds a host in MAAS that is to be onboarded there; null: no MAAS is configured. */
  readonly maas: MaasHosts | null;
  readonly terminals: Pick<Terminals, 'open' | 'list' | 'close'>;
  /** The text of all metrics now. */
  readonly metrics: (openMetrics: boolean) => Promise<string>;
  readonly bmc: Pick<BmcService, 'nodes' | 'keys' | 'scan' | 'consoleLog'>;
}
