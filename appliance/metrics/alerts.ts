// The alert rules for Prometheus and their runbooks, from one table: docs/monitoring/alerts.yml and docs/monitoring.md are generated from it.

interface Alert {
  readonly name: string;
  readonly expr: string;
  readonly for: string;
  readonly severity: 'critical' | 'warning';
  /** `{{ $labels.x }}` and `{{ $value }}` are filled in by Prometheus. */
  readonly summary: string;
  /** What to do, step by step. */
  readonly runbook: readonly string[];
}

export const ALERTS: readonly Alert[] = [
  {
    name: 'ColdironDown',
    expr: 'up{job="coldiron"} == 0',
    for: '2m',
    severity: 'critical',
    summary: 'The appliance {{ $labels.instance }} does not answer',
    runbook: [
      'Machines that boot from the network now get no answer. Installed nodes are not affected.',
      'Read the end of its log: `journalctl -u coldiron -n 100`. It names the reason when it could not start.',
      'If it runs, check the token of Prometheus: a revoked token is answered with 401.',
    ],
  },
  {
    name: 'ColdironServiceDown',
    expr: 'coldiron_service_up == 0',
    for: '5m',
    severity: 'critical',
    summary: '{{ $labels.service }} does not run on {{ $labels.instance }}',
    runbook: ['Run `coldiron check`: it names the listener, the reason, and the command that helps.'],
  },
  {
    name: 'ColdironProblem',
    expr: 'coldiron_appliance_problems > 0',
    for: '10m',
    severity: 'warning',
    summary: 'The appliance reports a problem of its own: {{ $labels.problem }}',
    runbook: ['Run `coldiron check`: each problem is listed with its next step.'],
  },
  {
    name: 'ColdironOtherDhcpServer',
    expr: 'increase(coldiron_boot_events_total{kind="dhcp.rogue"}[15m]) > 0',
    for: '0m',
    severity: 'critical',
    summary: 'Another DHCP server answers on a network of {{ $labels.instance }}',
    runbook: [
      'Run `coldiron check`: it names the address of the other server, the interface and the network.',
      'Find its switch port by its MAC address, and unplug it or stop the service.',
    ],
  },
  {
    name: 'ColdironNodesFailed',
    expr: 'sum by (instance) (increase(coldiron_state_entries_total{state="failed"}[30m])) >= 1',
    for: '0m',
    severity: 'warning',
    summary: '{{ $value | humanize }} nodes failed in the last half hour',
    runbook: [
      'Run `coldiron diagnose`: it groups all failed nodes by cause, with evidence and the next step.',
      'Several nodes with one cause usually share a switch, an image or a network.',
    ],
  },
  {
    name: 'ColdironNodesOverdue',
    expr: 'sum by (instance) (coldiron_nodes_overdue) > 0',
    for: '10m',
    severity: 'warning',
    summary: '{{ $value }} nodes are past the deadline of their state',
    runbook: [
      'The runner moves such nodes within seconds. If they stay, it does not run: look for errors of the runner in the log.',
      'Check the store: alert ColdironStoreFails, and `coldiron check`.',
    ],
  },
  {
    name: 'ColdironNodesSilent',
    expr: 'coldiron_nodes_health{health="silent"} > 0',
    for: '15m',
    severity: 'warning',
    summary: '{{ $value }} active nodes have sent no heartbeat',
    runbook: [
      'List them: `coldiron nodes list --in active`, and run `coldiron diagnose NODE` for one.',
      'If all nodes of a rack are silent, check its switch and power first.',
    ],
  },
  {
    name: 'ColdironNodesNotErased',
    expr: 'coldiron_nodes_not_erased > 0',
    for: '1h',
    severity: 'warning',
    summary: '{{ $value }} released nodes still have data on their disks',
    runbook: ['Nothing is deployed to them. Erase the disks: `coldiron release NODE`, or replace them.'],
  },
  {
    name: 'ColdironPoolNearlyFull',
    expr: 'coldiron_pool_leases / (coldiron_pool_addresses > 0) > 0.9',
    for: '15m',
    severity: 'warning',
    summary: 'The address pool of {{ $labels.network }} is {{ $value | humanizePercentage }} used',
    runbook: [
      'New machines get no address when the pool is empty. List who holds it: `coldiron leases list --network NAME`.',
      'Extend `pools` of the network in the inventory, or declare the machines, which then get their own addresses.',
    ],
  },
  {
    name: 'ColdironTransfersFail',
    expr: [
      'sum by (instance, protocol) (rate(coldiron_transfers_total{result=~"timeout|error"}[30m]))',
      ' / (sum by (instance, protocol) (rate(coldiron_transfers_total[30m])) > 0) > 0.2',
    ].join(''),
    for: '15m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of {{ $labels.protocol }} transfers fail',
    runbook: [
      'Run `coldiron diagnose`: it names the switch that the stopped machines share, and transfers that make no progress.',
      'Check MTU and packet loss between the appliance and the rack.',
    ],
  },
  {
    name: 'ColdironBmcCallsFail',
    expr: [
      'sum by (instance, protocol) (rate(coldiron_bmc_calls_total{result!="ok"}[30m]))',
      ' / (sum by (instance, protocol) (rate(coldiron_bmc_calls_total[30m])) > 0) > 0.3',
    ].join(''),
    for: '30m',
    severity: 'warning',
    summary: '{{ $value | humanizePercentage }} of {{ $labels.protocol }} calls to BMCs fail',
    runbook: [
      'The label `result` of `coldiron_bmc_calls_total` says how: no answer, wrong login, refused.',
      'One BMC: `coldiron power NODE status`. Many: check the management network.',
    ],
  },
  {
    name: 'ColdironQueueStuck',
    expr: 'coldiron_queue_age_seconds{queue="effects"} > 900',
    for: '10m',
    severity: 'warning',
    summary: 'The oldest of the due {{ $labels.queue }} has waited {{ $value | humanizeDuration }}',
    runbook: [
      'Effects are carried out one after the other for each node; one that keeps failing is repeated with longer pauses.',
      'Find the node: `coldiron events --kind bmc --limit 50`.',
    ],
  },
  {
    name: 'ColdironTasksNotFetched',
    expr: 'coldiron_queue_age_seconds{queue="tasks"} > 3600',
    for: '10m',
    severity: 'warning',
    summary: 'A task has waited {{ $value | humanizeDuration }} for its node to fetch it',
    runbook: ['The node does not ask for tasks: see ColdironNodesSilent. A task expires by itself.'],
  },
  {
    name: 'ColdironExportBehind',
    expr: 'coldiron_export_age_seconds > 900',
    for: '15m',
    severity: 'warning',
    summary: 'Events have waited {{ $value | humanizeDuration }} for the receiver {{ $labels.receiver }}',
    runbook: [
      'Run `coldiron exports list`: it shows the last error of the receiver.',
      'Events wait until retention deletes them; none is lost before.',
    ],
  },
  {
    name: 'ColdironCertificateExpires',
    expr: 'coldiron_certificate_expiry_timestamp_seconds - time() < 14 * 86400',
    for: '1h',
    severity: 'warning',
    summary: 'The certificate of the {{ $labels.certificate }} expires in {{ $value | humanizeDuration }}',
    runbook: [
      'Management API: install a new certificate and restart the appliance.',
      'Authority: `coldiron ca rotate`; nodes trust both until the old one is retired. The node API renews its own.',
    ],
  },
  {
    name: 'ColdironNodeCertificatesExpire',
    expr: 'coldiron_node_certificates_expiring > 0',
    for: '6h',
    severity: 'warning',
    summary: '{{ $value }} node certificates expire within a week and were not renewed',
    runbook: ['Run `coldiron ca show`: it names the holders. Their agents do not run, or cannot reach the node API.'],
  },
  {
    name: 'ColdironStoreFails',
    expr: 'sum by (instance) (increase(coldiron_store_write_failures_total[10m])) > 0',
    for: '0m',
    severity: 'critical',
    summary: 'The store cannot write: no lease is granted and no work starts',
    runbook: ['Run `coldiron check`: it says whether the disk is full or fails. Free space, or move the state folder.'],
  },
  {
    name: 'ColdironStoreSlow',
    expr: 'histogram_quantile(0.99, sum by (instance, le) (rate(coldiron_store_write_seconds_bucket{write="leases"}[10m]))) > 0.5',
    for: '10m',
    severity: 'warning',
    summary:
      'Writing leases takes {{ $value | humanizeDuration }} (99th percentile): machines wait for their addresses',
    runbook: ['The disk of the state folder is slow or shared. Check it: `iostat -x 5`.'],
  },
  {
    name: 'ColdironEventLoopSlow',
    expr: 'coldiron_event_loop_delay_seconds{percentile="99"} > 0.2',
    for: '10m',
    severity: 'warning',
    summary: 'The event loop is {{ $value | humanizeDuration }} late (99th percentile)',
    runbook: [
      'Machines wait for every answer that long. Check the CPU use of the host, and the number of open event streams',
      '(`coldiron_stream_listeners`).',
    ],
  },
];

/** Where the rules point to: docs/monitoring.md of this version. */
const RUNBOOKS = 'docs/monitoring.md';

export const runbookAnchor = (name: string): string => name.toLowerCase();

/** JSON strings are YAML strings. */
export function alertRules(): string {
  const rules = ALERTS.map(({ name, expr, for: duration, severity, summary }) =>
    [
      `      - alert: ${name}`,
      `        expr: ${JSON.stringify(expr)}`,
      `        for: ${duration}`,
      '        labels:',
      `          severity: ${severity}`,
      '        annotations:',
      `          summary: ${JSON.stringify(summary)}`,
      `          runbook_url: ${RUNBOOKS}#${runbookAnchor(name)}`,
    ].join('\n'),
  );
  return `# Alert rules for Prometheus. Generated from appliance/metrics/alerts.ts by \`npm run docs\`.
groups:
  - name: coldiron
    rules:
${rules.join('\n')}
`;
}
