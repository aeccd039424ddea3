// Tracks which nodes are online and which are silent. The last heartbeat of each node is kept in memory and written every few
// seconds. After a start, a node counts as silent only after this process has listened for the full timeout.

import type { Json, NewEvent } from '../domain/event.ts';
import { knownSystem, type NodeSystem } from '../domain/events/node-system.ts';
import type { Instant } from '../domain/instant.ts';
import type { Health } from '../domain/lifecycle.ts';
import type { Machine, MachineId } from '../domain/machine.ts';
import { emptyChange } from '../machines/commands/decision.ts';
import type { Change } from '../store/change.ts';
import type { Store } from '../store/store.ts';
import type { Heartbeat } from '../store/task-store.ts';
import { eventOf } from './enrollment-records.ts';
import type { TwinWatch } from './twin-watch.ts';

export interface HeartbeatsDeps {
  readonly store: Pick<Store, 'heartbeats' | 'putHeartbeats' | 'commit'>;
  readonly now: () => Instant;
  readonly silentAfter: Instant;
  readonly machines: () => Iterable<Machine>;
  readonly twins: Pick<TwinWatch, 'remember' | 'reported'>;
}

export interface Heartbeats {
  record(machine: Machine, report: Json, correlationId: string): Promise<void>;
  lastOf(machine: MachineId): Heartbeat | null;
  /** Keeps what a node reported about its system, until it reports again or boots again. Returns what was kept before. */
  keepSystem(machine: Machine, system: NodeSystem): NodeSystem | null;
  /** Writes the heartbeats received since the last flush. */
  flush(): Promise<void>;
  /** Sets nodes without a recent heartbeat to silent, and returns them. */
  markSilent(): Promise<Machine[]>;
}

export async function openHeartbeats(deps: HeartbeatsDeps): Promise<Heartbeats> {
  const { store, now, silentAfter, machines } = deps;
  const startedAt = now();
  const last = new Map((await store.heartbeats()).map((heartbeat) => [heartbeat.machine, heartbeat]));
  let unwritten = new Set<MachineId>();
  for (const { machine, at, report } of last.values()) deps.twins.remember(machine, at, bootIdOf(report));

  return {
    record: async (machine, report, correlationId) => {
      const at = now();
      await deps.twins.reported(machine, bootIdOf(report), correlationId);
      last.set(machine.id, {
        machine: machine.id,
        at,
        report: withEarlier(report, last.get(machine.id)?.report ?? null),
      });
      unwritten.add(machine.id);
      if (machine.health === 'online') return;
      const origin = { actor: `machine:${machine.spec.hostname}`, correlationId };
      const event = eventOf('health.online', machine.id, at, origin, { before: machine.health });
      await store.commit(healthChange(machine, 'online', event));
    },
    lastOf: (machine) => last.get(machine) ?? null,
    keepSystem: ({ id }, system) => {
      const { at, report } = last.get(id) ?? { at: now(), report: {} };
      last.set(id, { machine: id, at, report: { ...fieldsOf(report), system } });
      unwritten.add(id);
      return reportedBy(report).system;
    },
    flush: async () => {
      if (unwritten.size === 0) return;
      const written = unwritten;
      unwritten = new Set();
      try {
        await store.putHeartbeats([...written].flatMap((id) => last.get(id) ?? []));
      } catch (error) {
        for (const id of written) unwritten.add(id);
        throw error;
      }
    },
    markSilent: async () => {
      const at = now();
      const since = ({ id }: Machine): Instant => Math.max(last.get(id)?.at ?? 0, startedAt);
      const silent = [...machines()].filter(
        (machine) => machine.health === 'online' && at - since(machine) >= silentAfter,
      );
      for (const machine of silent) {
        const heardAt = last.get(machine.id)?.at ?? null;
        const origin = { actor: 'appliance', correlationId: null };
        const event = eventOf('health.silent', machine.id, at, origin, { last_heard: heardAt });
        await store.commit(healthChange(machine, 'silent', event));
      }
      return silent;
    },
  };
}

/** What the last heartbeat of a node says. Another version may have stored it. */
export function reportedBy(report: Json): {
  /** How far its clock is ahead, in milliseconds; null: not measured. Its precision is a second. */
  readonly clockOffset: Instant | null;
  readonly system: NodeSystem | null;
} {
  const { clock_offset_ms: offset, system } = fieldsOf(report);
  return { clockOffset: typeof offset === 'number' ? offset : null, system: knownSystem(system) };
}

const fieldsOf = (report: Json): { readonly [key: string]: Json } =>
  typeof report === 'object' && report !== null && !Array.isArray(report)
    ? (report as { readonly [key: string]: Json })
    : {};

/** Of the kernel: new at every boot. */
function bootIdOf(report: Json): string | null {
  const id = fieldsOf(report).boot_id;
  return typeof id === 'string' && id !== '' ? id : null;
}

/** A heartbeat of the same boot keeps what was reported about the system, and the settings while a task runs. */
function withEarlier(report: Json, before: Json): Json {
  if (bootIdOf(report) !== bootIdOf(before)) return report;
  const { system, settings } = fieldsOf(before);
  const earlier = { ...(system !== undefined && { system }), ...(settings !== undefined && { settings }) };
  return { ...earlier, ...fieldsOf(report) };
}

/** The store refuses an unchanged health, so the event is written once. */
const healthChange = (machine: Machine, health: Health, event: NewEvent): Change => ({
  ...emptyChange(machine, event.at),
  version: null,
  writes: [{ kind: 'set-health', health }],
  events: [event],
});
