// Memory and processor time of an idle appliance, with an empty inventory and with 10,000 nodes.

import { setTimeout } from 'node:timers/promises';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from '../process/appliance.ts';
import { cpuSecondsOf, megabytesOf } from './process-cost.ts';
import { largeRack } from './rack.ts';

/** What the start left over is done by then. */
const SETTLE_MS = 5000;
const WATCH_MS = 10_000;

export async function benchIdle(): Promise<void> {
  const empty = await idleCost(0);
  const full = await idleCost(10_000);
  const rows = [
    ['idle, example-sized inventory', empty],
    ['idle, 10,000 nodes', full],
  ] as const;
  for (const [what, { megabytes, cpuMillisecondsPerSecond }] of rows) {
    process.stdout.write(
      `${what.padEnd(46)}${megabytes} MB, ${cpuMillisecondsPerSecond.toFixed(1)} ms of CPU per second\n`,
    );
  }
  const memory = `rss_mb=${empty.megabytes} rss_10000_nodes_mb=${full.megabytes} limit_mb=200`;
  const costs = `cpu_ms_per_s=${empty.cpuMillisecondsPerSecond.toFixed(1)} cpu_10000_nodes_ms_per_s=${full.cpuMillisecondsPerSecond.toFixed(1)}`;
  process.stdout.write(`idle: ${memory} ${costs}\n`);
}

interface IdleCost {
  readonly megabytes: number;
  readonly cpuMillisecondsPerSecond: number;
}

async function idleCost(nodes: number): Promise<IdleCost> {
  const site = new SiteFolder(`${LOOPBACK_SITE}log: { level: error }\n${nodes > 0 ? 'inventory: [rack.json]\n' : ''}`);
  let serving: ServingProcess | null = null;
  try {
    if (nodes > 0) site.write('rack.json', JSON.stringify(largeRack(nodes)));
    // The first start imports the inventory; the second one is the normal case.
    serving = await new ServingProcess(site.path).up();
    await serving.end('SIGTERM');
    serving = await new ServingProcess(site.path).up();
    const { pid } = serving.child;
    if (pid === undefined) throw new Error('the appliance has no process');
    await setTimeout(SETTLE_MS);
    const [began, cpuBefore] = [performance.now(), cpuSecondsOf(pid)];
    await setTimeout(WATCH_MS);
    const cpuMillisecondsPerSecond = ((cpuSecondsOf(pid) - cpuBefore) * 1e6) / (performance.now() - began);
    return { megabytes: Math.round(megabytesOf(pid, 'VmRSS')), cpuMillisecondsPerSecond };
  } finally {
    await serving?.end('SIGKILL');
    site.remove();
  }
}
