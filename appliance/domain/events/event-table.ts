// Every kind of event that can be stored, in one table. `NewEvent` is derived from it, so a producer can write nothing else.
// `docs/events.md` is generated from it.

import type { Static } from 'typebox';
import { ACCESS_EVENTS } from './access-events.ts';
import { AGENT_EVENTS } from './agent-events.ts';
import { ALLOCATION_EVENTS } from './allocation-events.ts';
import { APPLIANCE_EVENTS } from './appliance-events.ts';
import { BMC_EVENTS } from './bmc-events.ts';
import { CONSOLE_EVENTS } from './console-events.ts';
import { DHCP_EVENTS } from './dhcp-events.ts';
import type { EventRow } from './event-row.ts';
import { EXPORT_EVENTS } from './export-events.ts';
import { IDENTITY_EVENTS } from './identity-events.ts';
import { INVENTORY_EVENTS } from './inventory-events.ts';
import { MAAS_EVENTS } from './maas-events.ts';
import { MACHINE_EVENTS } from './machine-events.ts';
import { MEDIUM_EVENTS } from './medium-events.ts';
import { NODE_API_EVENTS } from './node-api-events.ts';
import { ONBOARDING_EVENTS } from './onboarding-events.ts';
import { PROPOSAL_EVENTS } from './proposal-events.ts';
import { PROVISIONING_EVENTS } from './provisioning-events.ts';
import { TERMINAL_EVENTS } from './terminal-events.ts';
import { TRAIL_EVENTS } from './trail-events.ts';
import { TRANSFER_EVENTS } from './transfer-events.ts';

export const EVENT_TABLE = {
  ...DHCP_EVENTS,
  ...TRANSFER_EVENTS,
  ...BMC_EVENTS,
  ...CONSOLE_EVENTS,
  ...MACHINE_EVENTS,
  ...PROVISIONING_EVENTS,
  ...MEDIUM_EVENTS,
  ...IDENTITY_EVENTS,
  ...INVENTORY_EVENTS,
  ...TRAIL_EVENTS,
  ...APPLIANCE_EVENTS,
  ...NODE_API_EVENTS,
  ...EXPORT_EVENTS,
  ...ONBOARDING_EVENTS,
  ...MAAS_EVENTS,
  ...ACCESS_EVENTS,
  ...ALLOCATION_EVENTS,
  ...AGENT_EVENTS,
  ...PROPOSAL_EVENTS,
  ...TERMINAL_EVENTS,
};

export type EventKind = keyof typeof EVENT_TABLE;
export const EVENT_KINDS = Object.keys(EVENT_TABLE) as EventKind[];

export type EventData<Kind extends EventKind> = DeepReadonly<Static<(typeof EVENT_TABLE)[Kind]['data']>>;

/** Events of a boot, of the appliance itself and of the node API, which are written through the trail. */
export type BootEventKind =
  | keyof typeof DHCP_EVENTS
  | keyof typeof TRANSFER_EVENTS
  | keyof typeof APPLIANCE_EVENTS
  | keyof typeof NODE_API_EVENTS;

/** Null for a kind that an earlier or a later version wrote. */
export const eventRow = (kind: string): EventRow | null =>
  Object.hasOwn(EVENT_TABLE, kind) ? (EVENT_TABLE[kind as EventKind] as unknown as EventRow) : null;

type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;
