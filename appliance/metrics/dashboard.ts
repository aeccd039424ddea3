// The Grafana dashboard, from a table of panels: docs/monitoring/grafana-dashboard.json is generated from it.

interface Panel {
  readonly title: string;
  readonly type?: 'timeseries' | 'stat' | 'table' | 'bargauge';
  readonly unit?: string;
  readonly width?: number;
  readonly stacked?: boolean;
  /** PromQL and legend. */
  readonly queries: readonly (readonly [expr: string, legend: string])[];
}

const OF = 'instance=~"$instance"';
const quantile = (q: number, metric: string, by: string): string =>
  `histogram_quantile(${q}, sum by (le, ${by}) (rate(${metric}_bucket{${OF}}[$__rate_interval])))`;
const rate = (metric: string, by: string): string => `sum by (${by}) (rate(${metric}{${OF}}[$__rate_interval]))`;

const ROWS: readonly { readonly title: string; readonly panels: readonly Panel[] }[] = [
  {
    title: 'Now',
    panels: [
      {
        title: 'Nodes by state',
        type: 'bargauge',
        width: 8,
        queries: [[`sum by (state) (coldiron_nodes{${OF}}) > 0`, '{{state}}']],
      },
      { title: 'Services', type: 'stat', width: 4, queries: [[`coldiron_service_up{${OF}}`, '{{service}}']] },
      {
        title: 'Problems of the appliance',
        type: 'stat',
        width: 4,
        queries: [[`sum(coldiron_appliance_problems{${OF}}) or vector(0)`, 'problems']],
      },
      { title: 'Armed', type: 'stat', width: 4, queries: [[`coldiron_armed_intents{${OF}}`, '{{kind}}']] },
      {
        title: 'Health of active nodes',
        type: 'stat',
        width: 4,
        queries: [[`coldiron_nodes_health{${OF}}`, '{{health}}']],
      },
    ],
  },
  {
    title: 'Nodes',
    panels: [
      { title: 'Nodes by state', stacked: true, queries: [[`sum by (state) (coldiron_nodes{${OF}})`, '{{state}}']] },
      {
        title: 'Entered a state, per hour',
        queries: [[`sum by (state) (increase(coldiron_state_entries_total{${OF}}[1h]))`, '{{state}}']],
      },
      { title: 'Longest in a state', unit: 's', queries: [[`coldiron_longest_in_state_seconds{${OF}}`, '{{state}}']] },
      { title: 'Past their deadline', queries: [[`coldiron_nodes_overdue{${OF}}`, '{{state}}']] },
    ],
  },
  {
    title: 'Boot',
    panels: [
      { title: 'DHCP messages', unit: 'cps', queries: [[rate('coldiron_dhcp_messages_total', 'kind'), '{{kind}}']] },
      {
        title: 'Boot files sent',
        unit: 'Bps',
        queries: [[rate('coldiron_transfer_bytes_total', 'protocol'), '{{protocol}}']],
      },
      {
        title: 'Transfers by result',
        unit: 'cps',
        queries: [[rate('coldiron_transfers_total', 'protocol, result'), '{{protocol}} {{result}}']],
      },
      {
        title: 'Duration of transfers',
        unit: 's',
        queries: [
          [quantile(0.5, 'coldiron_transfer_seconds', 'protocol'), '{{protocol}} median'],
          [quantile(0.95, 'coldiron_transfer_seconds', 'protocol'), '{{protocol}} p95'],
        ],
      },
      {
        title: 'Boot decisions',
        unit: 'cps',
        queries: [[rate('coldiron_boot_decisions_total', 'outcome'), '{{outcome}}']],
      },
      {
        title: 'Median duration of boot stages',
        unit: 's',
        queries: [
          [
            `histogram_quantile(0.5, sum by (le, stage) (increase(coldiron_boot_stage_seconds_bucket{${OF}}[1d])))`,
            '{{stage}}',
          ],
        ],
      },
      {
        title: 'Pool addresses in use',
        unit: 'percentunit',
        queries: [[`coldiron_pool_leases{${OF}} / (coldiron_pool_addresses{${OF}} > 0)`, '{{network}}']],
      },
      { title: 'Leases', queries: [[`coldiron_leases{${OF}}`, '{{network}}']] },
    ],
  },
  {
    title: 'BMCs and queues',
    panels: [
      {
        title: 'BMC calls by result',
        unit: 'cps',
        queries: [[rate('coldiron_bmc_calls_total', 'protocol, result'), '{{protocol}} {{result}}']],
      },
      {
        title: 'Duration of BMC calls, p95',
        unit: 's',
        queries: [[quantile(0.95, 'coldiron_bmc_call_seconds', 'protocol'), '{{protocol}}']],
      },
      {
        title: 'Age of the oldest item',
        unit: 's',
        queries: [
          [`coldiron_queue_age_seconds{${OF}}`, '{{queue}}'],
          [`coldiron_export_age_seconds{${OF}}`, 'export to {{receiver}}'],
        ],
      },
      {
        title: 'Waiting',
        queries: [
          [`coldiron_queue_items{${OF}}`, '{{queue}}'],
          [`coldiron_export_waiting_events{${OF}}`, 'export to {{receiver}}'],
        ],
      },
    ],
  },
  {
    title: 'Appliance',
    panels: [
      {
        title: 'Store writes, p99',
        unit: 's',
        queries: [[quantile(0.99, 'coldiron_store_write_seconds', 'write'), '{{write}}']],
      },
      {
        title: 'Event loop delay',
        unit: 's',
        queries: [[`coldiron_event_loop_delay_seconds{${OF}}`, 'percentile {{percentile}}']],
      },
      {
        title: 'CPU',
        unit: 'percentunit',
        queries: [[`rate(process_cpu_seconds_total{${OF}, job="coldiron"}[$__rate_interval])`, '{{instance}}']],
      },
      {
        title: 'Memory',
        unit: 'bytes',
        queries: [
          [`process_resident_memory_bytes{${OF}, job="coldiron"}`, 'resident'],
          [`nodejs_heap_used_bytes{${OF}}`, 'heap'],
        ],
      },
      { title: 'Event streams', queries: [[`coldiron_stream_listeners{${OF}}`, '{{instance}}']] },
      {
        title: 'Certificates expire in',
        unit: 's',
        queries: [[`coldiron_certificate_expiry_timestamp_seconds{${OF}} - time()`, '{{certificate}}']],
      },
    ],
  },
];

const COLUMNS = 24;
const HEIGHT = 8;
const DATASOURCE = { type: 'prometheus', uid: '\u0024{datasource}' };

/** All queries, for the test that looks for metrics that do not exist. */
export const dashboardQueries = (): string[] =>
  ROWS.flatMap(({ panels }) => panels.flatMap(({ queries }) => queries.map(([expr]) => expr)));

export function dashboard(): object {
  const panels: object[] = [];
  let [x, y] = [0, 0];
  for (const row of ROWS) {
    panels.push({
      id: panels.length + 1,
      type: 'row',
      title: row.title,
      collapsed: false,
      gridPos: { x: 0, y, w: COLUMNS, h: 1 },
    });
    y += 1;
    x = 0;
    for (const panel of row.panels) {
      const w = panel.width ?? COLUMNS / 2;
      if (x + w > COLUMNS) [x, y] = [0, y + HEIGHT];
      panels.push({ id: panels.length + 1, ...panelOf(panel), gridPos: { x, y, w, h: HEIGHT } });
      x += w;
    }
    y += HEIGHT;
  }
  return {
    title: 'Coldiron',
    uid: 'coldiron',
    tags: ['coldiron'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          ...{ name: 'instance', type: 'query', label: 'Appliance', datasource: DATASOURCE },
          ...{ query: 'label_values(coldiron_build_info, instance)', refresh: 2, multi: true, includeAll: true },
        },
      ],
    },
    panels,
  };
}

const panelOf = ({ title, type = 'timeseries', unit = 'short', stacked = false, queries }: Panel): object => ({
  ...{ title, type, datasource: DATASOURCE },
  fieldConfig: {
    defaults: {
      ...{ unit, min: 0 },
      ...(type === 'timeseries' && {
        custom: { fillOpacity: stacked ? 40 : 5, stacking: { mode: stacked ? 'normal' : 'none' } },
      }),
    },
    overrides: [],
  },
  ...(type !== 'timeseries' && { options: { reduceOptions: { calcs: ['lastNotNull'] } } }),
  targets: queries.map(([expr, legendFormat], at) => ({
    ...{ refId: String.fromCharCode(65 + at), datasource: DATASOURCE, expr, legendFormat },
  })),
});
