// Generates docs/monitoring.md from the metrics and the alerts.

import { ALERTS } from './alerts.ts';
import { METRICS } from './metric-table.ts';
import type { MetricRow } from './registry.ts';

const HEAD = `# Monitoring

Generated from \`appliance/metrics/\` by \`npm run docs\`.

## Event stream

\`GET /api/v1/events/stream\` sends nodes and events as they change, as Server-Sent Events (role viewer). \`coldiron events --follow\` is the same in a
terminal. First come all nodes as compact rows (message \`nodes\`, at most 500 rows each), then \`ready\`, then changes: rows (\`nodes\`), names of
nodes that are gone (\`gone\`) and events (\`event\`). Changes are collected and sent at most four times per second. With hundreds of listeners they are sent less often, once per
second with 1,000, so that listeners do not slow boots.

\`\`\`sh
curl -N --compressed -H "Authorization: Bearer $COLDIRON_TOKEN" "https://coldiron.lan:8443/api/v1/events/stream?site=dc1&severity=warning"
\`\`\`

- The \`id\` of a message is the number of the last event. A client that reconnects with it in \`Last-Event-ID\` (browsers do) or in \`after\` misses
  nothing and gets nothing twice. \`reset\` says that retention has deleted events in between.
- \`snapshot=none\` leaves rows out, \`events=none\` leaves events out; \`node\`, \`site\`, \`kind\` and \`severity\` filter.
- A reader that takes nothing for 30 seconds is disconnected. When a token is revoked, its streams end within 15 seconds.
- At most 2,000 streams are open, 1,200 of one caller; more are refused with 429 \`too_many_streams\`.
- Scripts can wait instead: \`GET /api/v1/events?after=N&wait=30\` answers with the next event, or with none after 30 seconds.

## Prometheus

\`GET /metrics\` on the management listener, with a token of role viewer; also on the socket of the state folder. OpenMetrics when \`Accept\` names it,
otherwise the Prometheus text format. No label names a node, so the number of series does not grow with the fleet.

\`\`\`sh
coldiron api-token create prometheus --role viewer          # put the token into a file that only Prometheus can read
cp docs/monitoring/alerts.yml /etc/prometheus/
\`\`\`

\`docs/monitoring/prometheus.yml\` is an example of the settings, \`docs/monitoring/grafana-dashboard.json\` a dashboard to import into Grafana.
The alert rules link to the runbooks below; put the address of your copy of this page in front of \`runbook_url\`.

## Metrics

Counters end in \`_total\`.

| metric | type | labels | meaning |
|---|---|---|---|
`;

export function monitoringDocument(): string {
  const rows = Object.entries(METRICS).map(([name, row]: [string, MetricRow]) => {
    const labels = row.labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}${row.kind === 'counter' ? '_total' : ''}\` | ${row.kind} | ${labels} | ${row.help} |`;
  });
  const alerts = ALERTS.map(
    ({ name, severity, expr, for: duration, runbook }) =>
      `### ${name}\n\n${severity}, after ${duration}: \`${expr}\`\n\n${runbook.map((line, at) => `${at + 1}. ${line}`).join('\n')}\n`,
  );
  return `${HEAD}${rows.join('\n')}\n\n## Alerts\n\n${alerts.join('\n')}`;
}
