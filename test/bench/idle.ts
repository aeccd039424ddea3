// Memory of an idle appliance, with an empty inventory and with 10,000 nodes.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from '../process/appliance.ts';
import { largeRack } from './rack.ts';

const SETTLE_MS = 15_000;

export async function benchIdle(): Promise<void> {
  const empty = await idleMegabytes(0);
  const full = await idleMegabytes(10_000);
  process.stdout.write(
    `${'idle, example-sized inventory'.padEnd(46)}${empty} MB\n${'idle, 10,000 nodes'.padEnd(46)}${full} MB\n`,
  );
  process.stdout.write(`idle: rss_mb=${empty} rss_10000_nodes_mb=${full} limit_mb=200\n`);
}

async function idleMegabytes(nodes: number): Promise<number> {
  const site = new SiteFolder(`${LOOPBACK_SITE}log: { level: error }\n${nodes > 0 ? 'inventory: [rack.json]\n' : ''}`);
  let serving: ServingProcess | null = null;
  try {
    if (nodes > 0) site.write('rack.json', JSON.stringify(largeRack(nodes)));
    // The first start imports the inventory; the second one is the normal case.
    serving = await new ServingProcess(site.path).up();
    await serving.end('SIGTERM');
    serving = await new ServingProcess(site.path).up();
    await setTimeout(SETTLE_MS);
    const status = readFileSync(join('/proc', String(serving.child.pid), 'status'), 'utf8');
    return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  } finally {
    await serving?.end('SIGKILL');
    site.remove();
  }
}
