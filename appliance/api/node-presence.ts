// When a node was last heard of, where, and what its agent reports: its clock and its operating system.

import type { Answer } from '../contract/wire.ts';
import { type Instant, instantText, SECOND } from '../domain/instant.ts';
import { isHeld, type Lease } from '../domain/lease.ts';
import { type Machine, macsOf } from '../domain/machine.ts';
import { reportedBy } from '../identity/heartbeats.ts';
import type { NodeFacts } from '../trail/diagnosis/facts.ts';
import type { ManagementDeps } from './deps.ts';
import { timeText } from './views/time-text.ts';

type PresenceDeps = Pick<ManagementDeps, 'store' | 'clock' | 'enrollment' | 'contactAt'>;

const EVENTS_LOOKED_AT = 200;

export async function presenceOf(deps: PresenceDeps, machine: Machine): Promise<Answer<'getNodePresence'>> {
  const { store, clock, enrollment } = deps;
  const leases = await leasesOf(store, machine);
  const heartbeat = enrollment.heartbeats.lastOf(machine.id)?.at ?? null;
  const request = await lastRequest(store, machine, leases);
  const { contactAt, clockOffset, system, agent } = await nodeFacts(deps, machine, leases);
  const now = clock.now();
  return {
    node: machine.spec.hostname,
    last_seen: timeText(latest([heartbeat, request, contactAt])),
    contact_at: timeText(contactAt),
    clock_offset: clockOffset === null ? null : Math.round(clockOffset / SECOND),
    system,
    agent:
      heartbeat === null || !agent
        ? null
        : { settings: agent.settings, version: agent.updated, problem: agent.problem },
    leases: leases.map((lease) => ({
      address: lease.address,
      mac: lease.mac,
      network: lease.network,
      expires_at: instantText(lease.expiresAt),
      held: isHeld(lease, now),
    })),
  };
}

/** What is known of the installed system, for the diagnosis too. */
export async function nodeFacts(
  { store, enrollment, contactAt }: PresenceDeps,
  machine: Machine,
  leases?: readonly Lease[],
): Promise<NodeFacts> {
  const heartbeat = enrollment.heartbeats.lastOf(machine.id);
  const held = leases ?? (await leasesOf(store, machine));
  const addresses = new Set<string>([
    ...held.map(({ address }) => address),
    ...machine.spec.interfaces.flatMap(({ address }) => address ?? []),
  ]);
  // Connections are remembered by this process, events also by earlier ones.
  const [event] = await store.events({ machine: machine.id, kind: 'node-api.connected', limit: 1, newest: true });
  const connections = [...addresses].map((address) => contactAt(address)?.connectedAt ?? null);
  return {
    contactAt: latest([...connections, heartbeat?.at ?? null, event?.at ?? null]),
    heardAt: heartbeat?.at ?? null,
    ...reportedBy(heartbeat?.report ?? null),
    agent: await agentFacts(enrollment, machine),
  };
}

async function agentFacts(
  { agents }: PresenceDeps['enrollment'],
  machine: Machine,
): Promise<NonNullable<NodeFacts['agent']>> {
  const { settings, updated, reported, wanted } = await agents.stateOf(machine);
  const { apiUrl, problem } = reported;
  return { settings, updated, apiUrl, wantedUrl: wanted.apiUrl, problem: problem || null };
}

async function leasesOf(store: ManagementDeps['store'], machine: Machine): Promise<Lease[]> {
  const macs = new Set<string>(macsOf(machine.spec));
  return (await store.leases()).filter(({ mac }) => macs.has(mac)).sort((a, b) => b.grantedAt - a.grantedAt);
}

/** When it last sent a packet, opened a session or reported: events whose actor is the machine or its MAC address. */
async function lastRequest(
  store: ManagementDeps['store'],
  { id }: Machine,
  [newest]: readonly Lease[],
): Promise<Instant | null> {
  const events = await store.events({ machine: id, limit: EVENTS_LOOKED_AT, newest: true });
  const own = events.findLast(({ actor }) => actor.startsWith('machine:') || actor.startsWith('mac:'));
  return latest([own?.at ?? null, newest?.grantedAt ?? null]);
}

function latest(times: readonly (Instant | null)[]): Instant | null {
  const known = times.flatMap((at) => at ?? []);
  return known.length === 0 ? null : Math.max(...known);
}
