// The input of a diagnosis: the machine with its events, and the facts that are gathered when somebody asks.

import type { ApplianceProblem } from '../../domain/appliance-problem.ts';
import type { StoredEvent } from '../../domain/event.ts';
import type { NodeSystem } from '../../domain/events/node-system.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Health, Lifecycle } from '../../domain/lifecycle.ts';
import type { Session } from '../../domain/session.ts';
import type { ExpectedTimes } from './stages.ts';

/** What its BMC says now. */
export interface BmcFacts {
  readonly power: 'on' | 'off' | 'unknown';
  /** Why the BMC could not be read; null: it answered. */
  readonly problem: string | null;
  /** A power command of the appliance itself that the BMC has not carried out yet; meanwhile it cannot be asked. Left out: none. */
  readonly switching?: { readonly to: 'on' | 'off'; readonly since: Instant };
  /** Entries of its event log since the work started. */
  readonly log: readonly { readonly at: Instant | null; readonly severity: string; readonly message: string }[];
}

/** What is known of the installed system. */
export interface NodeFacts {
  /** When it last connected to the node API. */
  readonly contactAt: Instant | null;
  /** Its last heartbeat, which measured its clock. */
  readonly heardAt: Instant | null;
  /** How far its clock is ahead. */
  readonly clockOffset: Instant | null;
  readonly system: NodeSystem | null;
  /** What its agent uses, and should use. Recordings of earlier versions have none. */
  readonly agent?: {
    readonly settings: 'current' | 'stale' | 'unknown';
    readonly updated: 'current' | 'outdated' | 'unknown';
    readonly apiUrl: string | null;
    readonly wantedUrl: string | null;
    readonly problem: string | null;
  };
}

/** Another machine that has something to do with this one. */
export interface Neighbour {
  readonly name: string;
  readonly state: string;
  /** What both have: `serial number CLD0002`, `chassis UUID …`. Empty: it appeared while this one was expected. */
  readonly shares: readonly string[];
  readonly firstSeen: Instant;
  readonly network: string | null;
}

/** Another machine that has, or should have, the same switch port. */
export interface PortClaim {
  readonly name: string;
  /** `sw3 Ethernet1/5`. */
  readonly port: string;
  /** Whether the port of this machine is declared, or was heard by LLDP; and that of the other one. */
  readonly own: 'declared' | 'heard';
  readonly other: 'declared' | 'heard';
}

/** Machines of the same network or rack that wait in a stage for too long as well. */
export interface Siblings {
  readonly stage: string;
  readonly stalled: readonly string[];
  /** Those that passed the same stage since this one began. */
  readonly passed: readonly string[];
}

/** Addresses that must be reachable from the machine, for messages. */
export interface Endpoints {
  readonly boot: string | null;
  readonly node: string | null;
}

export interface DiagnosisInput {
  readonly hostname: string;
  readonly lifecycle: Lifecycle;
  readonly health: Health;
  /** As declared. */
  readonly interfaces: readonly { readonly mac: string | null; readonly network: string | null }[];
  readonly session: Session | null;
  /** Of this machine, in order. */
  readonly events: readonly StoredEvent[];
  /** Null: it has no BMC, the appliance may not use it, or it was not read. */
  readonly bmc: BmcFacts | null;
  /** Recordings of earlier versions have none. */
  readonly node?: NodeFacts | null;
  /** What the appliance found out about itself. */
  readonly appliance: readonly ApplianceProblem[];
  readonly neighbours: readonly Neighbour[];
  /** Recordings of earlier versions have none. */
  readonly portClaims?: readonly PortClaim[];
  readonly siblings: Siblings | null;
  readonly expected: ExpectedTimes;
  readonly endpoints: Endpoints;
  readonly now: Instant;
}
