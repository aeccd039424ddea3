// The schemas that get a name in the OpenAPI document.

import { KeySet, SshKey, SudoPolicy } from './access.ts';
import { Allocation } from './allocation.ts';
import { Quirk } from './bmc.ts';
import { NodeCabling } from './cabling.ts';
import { Cluster, Network, Profile, Site, Sku } from './catalogue.ts';
import { Explanation } from './explanation.ts';
import { Receiver } from './exports.ts';
import { FleetRow } from './fleet-row.ts';
import { NamedInventoryDocument } from './inventory.ts';
import { Node } from './node.ts';
import { NodeFacts, NodeSession } from './node-work.ts';
import { Onboarding } from './onboarding.ts';
import { Proposal } from './proposal.ts';
import { ErrorCodes, ErrorEnvelope } from './shared.ts';
import { Task } from './task.ts';
import { Terminal } from './terminal.ts';
import { Token } from './token.ts';
import { AuditEntry, Event, Lease } from './trail.ts';

export const COMPONENTS = [
  Allocation,
  AuditEntry,
  Cluster,
  ErrorCodes,
  ErrorEnvelope,
  Event,
  Explanation,
  FleetRow,
  NamedInventoryDocument,
  KeySet,
  Lease,
  Network,
  Node,
  NodeCabling,
  NodeFacts,
  NodeSession,
  Onboarding,
  Profile,
  Proposal,
  Quirk,
  Receiver,
  Site,
  Sku,
  SshKey,
  SudoPolicy,
  Task,
  Terminal,
  Token,
];
