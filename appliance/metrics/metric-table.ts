// Every metric of the appliance. No label names a node: the number of series does not grow with the fleet. docs/monitoring.md lists the table.

import type { MetricRow, MetricTable } from './registry.ts';

const counter = (help: string, ...labels: readonly string[]): MetricRow => ({ kind: 'counter', help, labels });
const gauge = (help: string, ...labels: readonly string[]): MetricRow => ({ kind: 'gauge', help, labels });
const histogram = (buckets: readonly number[], help: string, ...labels: readonly string[]): MetricRow => ({
  ...{ kind: 'histogram', help, labels, buckets },
});

/** Seconds. */
const DISK = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];
const NETWORK = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300];
const WORK = [1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1200, 3600, 7200];
const LIFE = [60, 300, 600, 1800, 3600, 14_400, 86_400, 604_800, 2_592_000];

export const METRICS = {
  coldiron_build_info: gauge('Always 1, with the version as label', 'version'),
  coldiron_service_up: gauge('1: the service runs. 0: it is starting or has failed. Absent: it is off', 'service'),
  coldiron_appliance_problems: gauge('What is wrong with the appliance itself, by problem', 'problem'),

  coldiron_boot_events: counter('Requests of machines and answers to them, by kind of event', 'kind'),
  coldiron_boot_decisions: counter(
    'Boot scripts and configurations that were served, by what the machine is to boot',
    'outcome',
  ),
  coldiron_dhcp_messages: counter('DHCP messages of clients and answers to them', 'network', 'kind'),
  coldiron_transfers: counter('Boot files sent to machines, by result', 'protocol', 'result'),
  coldiron_transfer_bytes: counter('Bytes of boot files sent to machines', 'protocol'),
  coldiron_transfer_seconds: histogram(NETWORK, 'Duration of complete transfers of boot files', 'protocol'),
  coldiron_boot_stage_seconds: histogram(WORK, 'Duration of each boot stage of completed runs', 'stage'),
  coldiron_run_seconds: histogram(WORK, 'Duration of completed runs', 'work'),

  coldiron_leases: gauge('DHCP leases that are held now', 'network'),
  coldiron_pool_leases: gauge('DHCP leases of pool addresses that are held now', 'network'),
  coldiron_pool_addresses: gauge('Addresses in the pools', 'network'),

  coldiron_nodes: gauge('Nodes in each state', 'state'),
  coldiron_nodes_health: gauge('Nodes by health', 'health'),
  coldiron_nodes_overdue: gauge('Nodes whose deadline has passed', 'state'),
  coldiron_nodes_not_erased: gauge('Released nodes that still have data on their disks'),
  coldiron_longest_in_state_seconds: gauge('How long the node that entered the state first has been in it', 'state'),
  coldiron_state_entries: counter('How often nodes entered each state', 'state'),
  coldiron_state_seconds: histogram(LIFE, 'How long nodes were in a state when they left it', 'state'),
  coldiron_armed_intents: gauge('Intents that are armed now', 'kind'),

  coldiron_bmc_calls: counter('Calls to BMCs, by result', 'protocol', 'verb', 'result'),
  coldiron_bmc_call_seconds: histogram(NETWORK, 'Duration of calls to BMCs', 'protocol', 'verb'),

  coldiron_queue_items: gauge('What waits: effects that are due, tasks that no node has fetched', 'queue'),
  coldiron_queue_age_seconds: gauge('How long the oldest item has waited', 'queue'),
  coldiron_export_waiting_events: gauge('Events that a receiver does not have yet', 'receiver'),
  coldiron_export_age_seconds: gauge('How long the oldest event has waited for a receiver', 'receiver'),
  coldiron_export_dead_letters: gauge('Events that a receiver refused', 'receiver'),

  coldiron_certificate_expiry_timestamp_seconds: gauge('When a certificate of the appliance expires', 'certificate'),

  coldiron_node_certificates_expiring: gauge('Certificates of nodes that expire within a week and were not renewed'),

  coldiron_store_write_seconds: histogram(DISK, 'Duration of writes to the store, until they are on disk', 'write'),
  coldiron_store_write_failures: counter('Writes that the store did not do', 'write'),
  coldiron_stream_listeners: gauge('Open event streams'),
  coldiron_event_loop_delay_seconds: gauge('Delay of the event loop in the last minute', 'percentile'),

  process_cpu_seconds: counter('CPU time of the appliance'),
  process_resident_memory_bytes: gauge('Memory of the appliance'),
  process_start_time_seconds: gauge('When the appliance was started'),
  nodejs_heap_used_bytes: gauge('Used heap of the main thread'),
} as const satisfies MetricTable;

export type MetricName = keyof typeof METRICS;
