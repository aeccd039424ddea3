// The schemas that get a name in the OpenAPI document.

import { Quirk } from './bmc.ts';
import { NodeCabling } from './cabling.ts';
import { Cluster, Network, Profile, Site, Sku } from './catalogue.ts';
import { Explanation } from './explanation.ts';
import { NamedInventoryDocument } from './inventory.ts';
import { Node } from './node.ts';
import { NodeFacts, NodeSession } from './node-work.ts';
import { ErrorCodes, ErrorEnvelope } from './shared.ts';
import { Task } from './task.ts';
import { Token } from './token.ts';
import { AuditEntry, Event, Lease } from './trail.ts';

export const COMPONENTS = [
  AuditEntry,
  Cluster,
  ErrorCodes,
  ErrorEnvelope,
  Event,
  Explanation,
  NamedInventoryDocument,
  Lease,
  Network,
  Node,
  NodeCabling,
  NodeFacts,
  NodeSession,
  Profile,
  Quirk,
  Site,
  Sku,
  Task,
  Token,
];
