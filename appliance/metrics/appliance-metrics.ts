// Counts what happens, and reads what is at the moment when somebody asks. Everything that is counted passes here anyway: notes of the trail,
// commits, writes to the store, calls to BMCs.

import type { ApplianceProblem } from '../domain/appliance-problem.ts';
import type { NewEvent } from '../domain/event.ts';
import { type Instant, SECOND } from '../domain/instant.ts';
import { LIFECYCLE_STATES } from '../domain/lifecycle.ts';
import type { Machine } from '../domain/machine.ts';
import type { Publication } from '../store/change.ts';
import type { TrailNote } from '../trail/trail.ts';
import { METRICS, type MetricName } from './metric-table.ts';
import { Registry } from './registry.ts';

export interface NetworkUse {
  readonly network: string;
  readonly leases: number;
  readonly poolLeases: number;
  readonly poolAddresses: number;
}

export interface QueueState {
  readonly waiting: number;
  /** Null: nothing waits. */
  readonly since: Instant | null;
}

/** What is read when somebody asks. */
export interface MetricSources {
  readonly version: string;
  readonly now: () => Instant;
  readonly machines: () => Iterable<Machine>;
  readonly services: () => Readonly<Record<string, 'running' | 'off' | 'starting' | 'failed'>>;
  readonly problems: () => readonly Pick<ApplianceProblem, 'id'>[];
  readonly networks: () => readonly NetworkUse[];
  readonly queues: () => Promise<Readonly<Record<string, QueueState>>>;
  readonly exports: () => Promise<readonly (QueueState & { readonly name: string; readonly deadLetters: number })[]>;
  readonly certificates: () => Promise<readonly { readonly of: string; readonly notAfter: Instant }[]>;
  /** Of nodes, within a week. */
  readonly expiringNodes: () => Promise<number>;
  readonly streamListeners: () => number;
  readonly process: () => ProcessUse;
}

export interface ProcessUse {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  readonly startedAt: Instant;
  /** Seconds, by percentile. */
  readonly loopDelay: Readonly<Record<string, number>>;
}

const TRANSFER_RESULTS: Readonly<Record<string, string>> = {
  'tftp.completed': 'completed',
  'tftp.aborted': 'aborted',
  'tftp.timeout': 'timeout',
  'tftp.error': 'error',
};

export class ApplianceMetrics {
  readonly #registry = new Registry(METRICS);

  /** Called for every note, also those over the limits of the trail. */
  readonly noted = ({ kind, data }: TrailNote): void => {
    const registry = this.#registry;
    registry.add('coldiron_boot_events', [kind]);
    if (kind.startsWith('dhcp.')) {
      const { network } = data as { readonly network?: string | null };
      registry.add('coldiron_dhcp_messages', [network ?? 'none', kind.slice('dhcp.'.length)]);
      return;
    }
    if (kind === 'http.script' || kind === 'boot.decided') {
      registry.add('coldiron_boot_decisions', [(data as { readonly outcome: string }).outcome]);
      return;
    }
    const { bytes, ms, complete } = data as {
      readonly bytes?: number;
      readonly ms?: number;
      readonly complete?: boolean;
    };
    const result = kind === 'http.served' ? (complete ? 'completed' : 'aborted') : TRANSFER_RESULTS[kind];
    if (result === undefined || bytes === undefined) return;
    const protocol = kind === 'http.served' ? 'http' : 'tftp';
    registry.add('coldiron_transfers', [protocol, result]);
    registry.add('coldiron_transfer_bytes', [protocol], bytes);
    if (result === 'completed' && ms !== undefined) {
      registry.observe('coldiron_transfer_seconds', [protocol], ms / SECOND);
    }
  };

  /** Called for every commit, before it resolves. */
  readonly committed = ({ events }: Pick<Publication, 'events'>): void => {
    for (const { kind, data } of events) {
      if (!kind.startsWith('lifecycle.')) continue;
      const { before, after } = data as { readonly before?: Entered; readonly after?: Entered };
      if (after === undefined || before?.state === after.state) continue;
      this.#registry.add('coldiron_state_entries', [after.state]);
      if (before)
        this.#registry.observe('coldiron_state_seconds', [before.state], (after.since - before.since) / SECOND);
    }
  };

  /** Called with events that no commit publishes. */
  readonly appended = (events: readonly NewEvent[]): void => {
    for (const event of events) {
      if (event.kind !== 'run.timed') continue;
      const { work, ms, stages } = event.data;
      this.#registry.observe('coldiron_run_seconds', [work], ms / SECOND);
      for (const { stage, ms: took } of stages) {
        this.#registry.observe('coldiron_boot_stage_seconds', [stage], took / SECOND);
      }
    }
  };

  readonly wrote = (write: string, ms: number, ok: boolean): void => {
    this.#registry.observe('coldiron_store_write_seconds', [write], ms / SECOND);
    if (!ok) this.#registry.add('coldiron_store_write_failures', [write]);
  };

  readonly calledBmc = (protocol: string, verb: string, result: string, ms: number): void => {
    this.#registry.add('coldiron_bmc_calls', [protocol, verb, result]);
    this.#registry.observe('coldiron_bmc_call_seconds', [protocol, verb], ms / SECOND);
  };

  async text(sources: MetricSources, openMetrics: boolean): Promise<string> {
    const [queues, exports, certificates, expiring] = await Promise.all([
      sources.queues(),
      sources.exports(),
      sources.certificates(),
      sources.expiringNodes(),
    ]);
    this.#registry.set('coldiron_node_certificates_expiring', [], expiring);
    this.#readNodes(sources);
    this.#readAppliance(sources, certificates);
    const now = sources.now();
    const age = (since: Instant | null): number => (since === null ? 0 : Math.max(0, now - since) / SECOND);
    for (const [queue, { waiting, since }] of Object.entries(queues)) {
      this.#registry.set('coldiron_queue_items', [queue], waiting);
      this.#registry.set('coldiron_queue_age_seconds', [queue], age(since));
    }
    for (const { name, waiting, since, deadLetters } of exports) {
      this.#registry.set('coldiron_export_waiting_events', [name], waiting);
      this.#registry.set('coldiron_export_age_seconds', [name], age(since));
      this.#registry.set('coldiron_export_dead_letters', [name], deadLetters);
    }
    return this.#registry.text(openMetrics);
  }

  #fresh(...names: readonly MetricName[]): void {
    for (const name of names) this.#registry.clear(name);
  }

  #readNodes({ machines, now }: MetricSources): void {
    this.#fresh('coldiron_nodes_overdue', 'coldiron_longest_in_state_seconds');
    const count = new Map<string, number>(LIFECYCLE_STATES.map((state) => [state, 0]));
    const since = new Map<string, Instant>();
    const overdue = new Map<string, number>();
    const health = new Map<string, number>([
      ['unknown', 0],
      ['online', 0],
      ['silent', 0],
    ]);
    const armed = new Map<string, number>([
      ['deploy', 0],
      ['erase', 0],
    ]);
    const at = now();
    let notErased = 0;
    for (const { lifecycle, health: own, hardware, intent } of machines()) {
      const { state, deadline } = lifecycle;
      increase(count, state);
      increase(health, own);
      since.set(state, Math.min(since.get(state) ?? at, lifecycle.since));
      if (deadline !== null && deadline < at) increase(overdue, state);
      if (hardware.unerased) notErased += 1;
      if (intent && intent.consumedAt === null && intent.revokedAt === null && intent.expiresAt > at) {
        increase(armed, intent.kind);
      }
    }
    const registry = this.#registry;
    for (const [state, nodes] of count) registry.set('coldiron_nodes', [state], nodes);
    for (const [name, nodes] of health) registry.set('coldiron_nodes_health', [name], nodes);
    for (const [kind, nodes] of armed) registry.set('coldiron_armed_intents', [kind], nodes);
    for (const [state, first] of since) {
      registry.set('coldiron_longest_in_state_seconds', [state], (at - first) / SECOND);
      registry.set('coldiron_nodes_overdue', [state], overdue.get(state) ?? 0);
    }
    registry.set('coldiron_nodes_not_erased', [], notErased);
  }

  #readAppliance(sources: MetricSources, certificates: Awaited<ReturnType<MetricSources['certificates']>>): void {
    const registry = this.#registry;
    this.#fresh('coldiron_service_up', 'coldiron_appliance_problems', 'coldiron_certificate_expiry_timestamp_seconds');
    this.#fresh('coldiron_leases', 'coldiron_pool_leases', 'coldiron_pool_addresses');
    registry.set('coldiron_build_info', [sources.version], 1);
    for (const [service, state] of Object.entries(sources.services())) {
      if (state !== 'off') registry.set('coldiron_service_up', [service], state === 'running' ? 1 : 0);
    }
    for (const { id } of sources.problems()) registry.add('coldiron_appliance_problems', [id]);
    for (const { network, leases, poolLeases, poolAddresses } of sources.networks()) {
      registry.set('coldiron_leases', [network], leases);
      registry.set('coldiron_pool_leases', [network], poolLeases);
      registry.set('coldiron_pool_addresses', [network], poolAddresses);
    }
    for (const { of, notAfter } of certificates) {
      registry.set('coldiron_certificate_expiry_timestamp_seconds', [of], notAfter / SECOND);
    }
    registry.set('coldiron_stream_listeners', [], sources.streamListeners());
    const { cpuSeconds, residentBytes, heapBytes, startedAt, loopDelay } = sources.process();
    registry.set('process_cpu_seconds', [], cpuSeconds);
    registry.set('process_resident_memory_bytes', [], residentBytes);
    registry.set('process_start_time_seconds', [], startedAt / SECOND);
    registry.set('nodejs_heap_used_bytes', [], heapBytes);
    for (const [percentile, seconds] of Object.entries(loopDelay)) {
      registry.set('coldiron_event_loop_delay_seconds', [percentile], seconds);
    }
  }
}

interface Entered {
  readonly state: string;
  readonly since: Instant;
}

const increase = (counts: Map<string, number>, key: string): void => void counts.set(key, (counts.get(key) ?? 0) + 1);
