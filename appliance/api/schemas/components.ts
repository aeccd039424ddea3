// The schemas that get a name in the OpenAPI document.

import { InventoryDocument } from '../../inventory/schema.ts';
import { Quirk } from './bmc.ts';
import { Cluster, Network, Profile, Site, Sku } from './catalogue.ts';
import { Explanation } from './explanation.ts';
import { Node } from './node.ts';
import { NodeFacts, NodeSession } from './node-work.ts';
import { component, ErrorEnvelope } from './shared.ts';
import { Task } from './task.ts';
import { Token } from './token.ts';
import { AuditEntry, Event, Lease } from './trail.ts';

export const COMPONENTS = [
  AuditEntry,
  Cluster,
  ErrorEnvelope,
  Event,
  Explanation,
  // No route checks against it: the inventory's own check does, with better words. Readers find it here.
  component('InventoryDocument', InventoryDocument),
  Lease,
  Network,
  Node,
  NodeFacts,
  NodeSession,
  Profile,
  Quirk,
  Site,
  Sku,
  Task,
  Token,
];
