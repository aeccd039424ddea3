import { describe, expect, it } from 'vitest';
import type { Event } from '../../appliance/domain/event.ts';
import { lifecycleData } from '../../appliance/domain/events/machine-events.ts';
import { HOUR, MINUTE } from '../../appliance/domain/instant.ts';
import { ALERTS } from '../../appliance/metrics/alerts.ts';
import { ApplianceMetrics, type MetricSources } from '../../appliance/metrics/appliance-metrics.ts';
import { dashboardQueries } from '../../appliance/metrics/dashboard.ts';
import { measuredStore } from '../../appliance/metrics/measured-store.ts';
import { METRICS } from '../../appliance/metrics/metric-table.ts';
import type { MetricRow } from '../../appliance/metrics/registry.ts';
import type { Store } from '../../appliance/store/store.ts';
import { aLife, aMachine, T0 } from '../machines/machines.ts';

const SOURCES: MetricSources = {
  version: '1.2.3',
  now: () => T0 + HOUR,
  machines: () => [],
  services: () => ({ dhcp: 'running', tftp: 'failed', http: 'off' }),
  problems: () => [{ id: 'disk-full' }, { id: 'disk-full' }],
  networks: () => [{ network: 'lab', leases: 9, poolLeases: 4, poolAddresses: 100 }],
  queues: async () => ({ effects: { waiting: 2, since: T0 }, tasks: { waiting: 0, since: null } }),
  exports: async () => [{ name: 'loki', waiting: 7, since: T0 + 30 * MINUTE, deadLetters: 1 }],
  certificates: async () => [{ of: 'node API', notAfter: T0 }],
  expiringNodes: async () => 3,
  streamListeners: () => 5,
  process: () => ({ cpuSeconds: 2.5, residentBytes: 10, heapBytes: 5, startedAt: T0, loopDelay: { 99: 0.01 } }),
};
const linesOf = async (metrics: ApplianceMetrics, sources: Partial<MetricSources> = {}): Promise<string[]> =>
  (await metrics.text({ ...SOURCES, ...sources }, false)).split('\n');

describe('the metrics', () => {
  it('count requests, bytes and durations of boots from the notes of the trail', async () => {
    const metrics = new ApplianceMetrics();
    const frame = { mac: null, machine: null };
    const packet = {
      xid: '1',
      network: 'lab',
      program: 'ipxe',
      architecture: 7,
      secs: 0,
      relay: null,
      oddities: [],
    } as const;
    metrics.noted({ ...frame, kind: 'dhcp.discover', data: packet });
    metrics.noted({ ...frame, kind: 'dhcp.discover', data: packet });
    const served = { asset: 'initrd', from: 0, bytes: 500, of: 500, complete: true, ms: 2000 };
    metrics.noted({ ...frame, kind: 'http.served', data: served });
    metrics.noted({ ...frame, kind: 'http.served', data: { ...served, bytes: 100, complete: false } });
    const lines = await linesOf(metrics);
    expect(lines).toContain('coldiron_dhcp_messages_total{network="lab",kind="discover"} 2');
    expect(lines).toContain('coldiron_boot_events_total{kind="http.served"} 2');
    expect(lines).toContain('coldiron_transfers_total{protocol="http",result="completed"} 1');
    expect(lines).toContain('coldiron_transfers_total{protocol="http",result="aborted"} 1');
    expect(lines).toContain('coldiron_transfer_bytes_total{protocol="http"} 600');
    expect(lines).toContain('coldiron_transfer_seconds_bucket{protocol="http",le="1.0"} 0');
    expect(lines).toContain('coldiron_transfer_seconds_bucket{protocol="http",le="2.5"} 1');
  });

  it('show nodes by state, the longest in each, and how long they stayed', async () => {
    const metrics = new ApplianceMetrics();
    const [before, after] = [aLife('deploying', { since: T0 }), aLife('enrolling', { since: T0 + 10 * MINUTE })];
    const event = {
      ...{ seq: 1, at: T0, kind: 'lifecycle.enrolling', actor: 'a', machine: null, correlationId: null },
      data: { event: 'installed', before: lifecycleData(before), after: lifecycleData(after) },
    } as unknown as Event;
    metrics.committed({ events: [event] });
    const machines = () => [
      aMachine({ number: 1, lifecycle: aLife('ready', { since: T0 }) }),
      aMachine({ number: 2, lifecycle: aLife('ready', { since: T0 + 30 * MINUTE }) }),
      aMachine({ number: 3, lifecycle: aLife('deploying', { since: T0, deadline: T0 + MINUTE }) }),
    ];
    const lines = await linesOf(metrics, { machines });
    expect(lines).toContain('coldiron_nodes{state="ready"} 2');
    expect(lines).toContain('coldiron_nodes{state="failed"} 0');
    expect(lines).toContain('coldiron_longest_in_state_seconds{state="ready"} 3600');
    expect(lines).toContain('coldiron_nodes_overdue{state="deploying"} 1');
    expect(lines).toContain('coldiron_state_seconds_bucket{state="deploying",le="600.0"} 1');
    expect(lines).toContain('coldiron_state_entries_total{state="enrolling"} 1');
    // A state that is empty again does not keep the age of its last node.
    expect((await linesOf(metrics)).some((line) => line.startsWith('coldiron_longest_in_state_seconds{'))).toBe(false);
  });

  it('show services, problems, leases, queues, exports, certificates and the process', async () => {
    const lines = await linesOf(new ApplianceMetrics());
    for (const line of [
      'coldiron_build_info{version="1.2.3"} 1',
      'coldiron_service_up{service="tftp"} 0',
      'coldiron_appliance_problems{problem="disk-full"} 2',
      'coldiron_pool_leases{network="lab"} 4',
      'coldiron_queue_items{queue="effects"} 2',
      'coldiron_queue_age_seconds{queue="effects"} 3600',
      'coldiron_queue_age_seconds{queue="tasks"} 0',
      'coldiron_export_age_seconds{receiver="loki"} 1800',
      `coldiron_certificate_expiry_timestamp_seconds{certificate="node API"} ${T0 / 1000}`,
      'coldiron_node_certificates_expiring 3',
      'coldiron_stream_listeners 5',
      'process_cpu_seconds_total 2.5',
      'coldiron_event_loop_delay_seconds{percentile="99"} 0.01',
    ]) {
      expect(lines).toContain(line);
    }
    expect(lines.some((line) => line.includes('service="http"'))).toBe(false);
  });

  it('measure writes of the store, those that fail, and the stages of completed runs', async () => {
    const metrics = new ApplianceMetrics();
    let time = 0;
    const store = measuredStore(
      {
        appendEvents: async () => {
          time += 3;
        },
        commitLeases: async () => {
          throw new Error('the disk is gone');
        },
      } as unknown as Store,
      metrics,
      () => time,
    );
    const frame = { at: T0, actor: 'appliance', machine: null, correlationId: null };
    const data = { work: 'deploying', sku: null, ms: 90_000, stages: [{ stage: 'loader', ms: 4000 }] };
    await store.appendEvents([{ ...frame, kind: 'run.timed', data }]);
    await expect(store.commitLeases([])).rejects.toThrow('gone');
    const lines = await linesOf(metrics);
    expect(lines).toContain('coldiron_store_write_seconds_bucket{write="events",le="0.005"} 1');
    expect(lines).toContain('coldiron_store_write_failures_total{write="leases"} 1');
    expect(lines).toContain('coldiron_boot_stage_seconds_bucket{stage="loader",le="5.0"} 1');
    expect(lines).toContain('coldiron_run_seconds_count{work="deploying"} 1');
  });
});

describe('alerts and dashboard', () => {
  it('use metrics and labels that exist', () => {
    const table: Readonly<Record<string, MetricRow>> = METRICS;
    const known = new Map(
      Object.entries(table).flatMap(([name, { kind, labels }]) => {
        const suffixes = kind === 'counter' ? ['_total'] : kind === 'histogram' ? ['_bucket', '_sum', '_count'] : [''];
        return suffixes.map((suffix) => [`${name}${suffix}`, [...labels, 'le', 'instance', 'job']] as const);
      }),
    );
    const expressions = [...ALERTS.map(({ expr }) => expr), ...dashboardQueries()];
    let found = 0;
    for (const expr of expressions) {
      for (const [, name = '', selectors = ''] of expr.matchAll(
        /\b((?:coldiron|process|nodejs)_\w+)(?:\{([^}]*)\})?/g,
      )) {
        expect([...known.keys()], expr).toContain(name);
        for (const [, label = ''] of selectors.matchAll(/(\w+)\s*(?:=~|!=|=)/g))
          expect(known.get(name), expr).toContain(label);
        found += 1;
      }
    }
    expect(found).toBeGreaterThan(50);
  });
});
