// What /metrics reads at the moment when somebody asks.

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ManagementDeps, Services } from '../api/deps.ts';
import type { LiveFeed } from '../api/live/live-feed.ts';
import { DAY } from '../domain/instant.ts';
import type { Exports } from '../export/exports.ts';
import type { MetricSources } from '../metrics/appliance-metrics.ts';
import { ProcessMeter } from '../metrics/process-use.ts';
import type { BootLookup } from './boot-lookup.ts';
import type { Foundation } from './foundation.ts';
import type { NodeService } from './identity.ts';
import type { SelfCheck } from './self-check.ts';

interface Measured extends Pick<SelfCheck, 'applianceProblems'> {
  readonly boot: Pick<BootLookup, 'dhcp'>;
  readonly nodes: Pick<NodeService, 'validity'>;
  readonly exports: Pick<Exports, 'status'>;
  readonly services: () => Services;
}

const EXPIRING_WITHIN = 7 * DAY;
const { version }: { version: string } = JSON.parse(
  readFileSync(new URL('../../package.json', import.meta.url), 'utf8'),
);

export function openMetrics(foundation: Foundation, measured: Measured) {
  const { config, store, fleet, clock, stops, metrics } = foundation;
  const { boot, nodes, exports, services, applianceProblems } = measured;
  const meter = new ProcessMeter();
  stops.add(meter.start());
  const management = config.tls && new X509Certificate(readFileSync(config.tls.certificateFile)).validToDate.getTime();
  const certificates: MetricSources['certificates'] = async () => [
    ...(management === null ? [] : [{ of: 'management API', notAfter: management }]),
    ...[nodes.validity()].flatMap((node) => (node === null ? [] : [{ of: 'node API', notAfter: node.notAfter }])),
    ...(await store.authorities()).flatMap(({ state, notAfter }) =>
      state === 'retired' ? [] : [{ of: `authority, ${state}`, notAfter }],
    ),
  ];
  return (live: LiveFeed): ManagementDeps['metrics'] => {
    const sources: MetricSources = {
      version,
      now: clock.now,
      machines: () => fleet.machines(),
      services,
      problems: applianceProblems,
      networks: () => boot.dhcp.usage(),
      queues: () => store.queues(clock.now()),
      exports: async () =>
        (await exports.status()).flatMap(({ name, progress }) =>
          progress === null
            ? []
            : [
                {
                  ...{ name, deadLetters: progress.deadLetters, since: progress.waitingSince },
                  waiting: progress.newest - progress.cursor.seq,
                },
              ],
        ),
      certificates,
      expiringNodes: async () => {
        const now = clock.now();
        return (await store.heldCertificates({ now, before: now + EXPIRING_WITHIN })).length;
      },
      streamListeners: () => live.listeners,
      process: meter.read,
    };
    return (openMetrics) => metrics.text(sources, openMetrics);
  };
}
