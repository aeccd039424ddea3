// The fleet row of one machine. Pure: everything it needs is in memory.

import type { Static } from 'typebox';
import type { FleetRow } from '../../contract/schemas/fleet-row.ts';
import { levelOf } from '../../domain/hardware-identity.ts';
import { type Instant, instantText } from '../../domain/instant.ts';
import type { ArmedIntent } from '../../domain/intent.ts';
import { runsSession } from '../../domain/lifecycle.ts';
import type { Machine, MachineInterface } from '../../domain/machine.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import { plainLine } from '../../domain/plain-line.ts';
import { STATES } from '../../domain/states.ts';
import { timeText } from '../views/time-text.ts';

export type FleetRowView = Static<typeof FleetRow.schema>;

/** What the appliance has seen of a machine, apart from what is stored with it. */
export interface Observed {
  readonly progress: FleetRowView['progress'];
  readonly cabling: FleetRowView['cabling'];
}

interface RowContext {
  readonly network: (name: MachineInterface['network']) => Pick<SiteNetwork, 'server'> | null;
  readonly now: Instant;
}

export function fleetRow(machine: Machine, observed: Observed, context: RowContext): FleetRowView {
  const { id, spec, lifecycle, health, hardware, intent, allocation, version } = machine;
  const { state, failure, note } = lifecycle;
  const card = bootInterface(spec.interfaces, context);
  return {
    id,
    hostname: spec.hostname,
    version,
    state,
    state_since: instantText(lifecycle.since),
    deadline: timeText(lifecycle.deadline),
    waiting_for: STATES[state].waitsFor,
    failed_step: state === 'failed' ? (failure?.step ?? null) : null,
    reason: plain((state === 'failed' ? failure?.reason : null) ?? note),
    progress: runsSession(state) ? observed.progress : null,
    health,
    site: spec.site,
    rack: plain(labelOf(spec.labels, 'rack')),
    unit: plain(labelOf(spec.labels, 'unit')),
    profile: spec.profile,
    sku: spec.sku,
    cluster: spec.cluster,
    arch: spec.architecture,
    serial: plain(spec.serial),
    labels: plainLabels(spec.labels),
    mac: card?.mac ?? null,
    address: card?.address ?? null,
    bmc_address: spec.bmc?.address ?? null,
    identity: { level: levelOf(hardware.bound), tpm: hardware.bound?.tpm?.trust ?? null },
    armed: intent && armedView(intent, context.now),
    not_erased: hardware.unerased !== undefined,
    cabling: observed.cabling,
    allocated_to: allocation ? plainLine(allocation.user) : null,
  };
}

/** The first card on a network that machines boot from; where none is known, the first one. */
function bootInterface(cards: readonly MachineInterface[], { network }: RowContext): MachineInterface | null {
  const [first = null] = cards;
  if (cards.length < 2) return first;
  return cards.find((card) => card.mac !== null && network(card.network)?.server != null) ?? first;
}

/** Expiry is not an event: a view hides what is over by `until`. */
function armedView(intent: ArmedIntent, now: Instant): FleetRowView['armed'] {
  const { kind, profile, actor, expiresAt, consumedAt, revokedAt } = intent;
  if (consumedAt !== null || revokedAt !== null || now >= expiresAt) return null;
  return { what: kind, profile, by: plainLine(actor), until: instantText(expiresAt) };
}

const plain = (text: string | null): string | null => (text === null ? null : plainLine(text));

const labelOf = (labels: Machine['spec']['labels'], key: string): string | null =>
  Object.hasOwn(labels, key) ? (labels[key] ?? null) : null;

function plainLabels(labels: Machine['spec']['labels']): Record<string, string> {
  const entries = Object.entries(labels);
  if (entries.length === 0) return {};
  return Object.fromEntries(entries.map(([key, value]) => [plainLine(key), plainLine(value)]));
}
