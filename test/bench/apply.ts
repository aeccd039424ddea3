// An inventory of 10,000 nodes through the command line and a running appliance: first apply, apply without changes, and a
// one-node edit until a read shows it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from '../process/appliance.ts';
import { largeRack } from './rack.ts';

const NODES = 10_000;

export async function benchApply(): Promise<void> {
  const site = new SiteFolder(`${LOOPBACK_SITE}log: { level: error }\n`);
  let serving: ServingProcess | null = null;
  try {
    const file = join(site.path, 'rack.yaml');
    const rack = largeRack(NODES);
    const save = (): void => writeFileSync(file, dump(rack));
    save();
    serving = await new ServingProcess(site.path).up();
    const apply = (): number => {
      const began = performance.now();
      const run = site.run('apply', 'rack.yaml');
      if (run.status !== 0) throw new Error(run.stderr);
      return performance.now() - began;
    };
    const first = apply();
    const none = apply();
    const edits = Array.from({ length: 5 }, (_, round) => {
      const node = rack.nodes[round * 1999];
      if (node) node.labels.edit = String(round);
      save();
      return apply();
    }).sort((a, b) => a - b);
    const median = edits[2] ?? Number.NaN;
    const rows = [
      [`first apply of ${NODES} nodes`, first],
      ['apply without a change', none],
      ['edit of one node, effective (median of 5)', median],
    ] as const;
    for (const [what, ms] of rows) process.stdout.write(`${what.padEnd(46)}${(ms / 1000).toFixed(2)} s\n`);
    process.stdout.write(
      `apply: nodes=${NODES} first_s=${(first / 1000).toFixed(2)} edit_s=${(median / 1000).toFixed(2)}\n`,
    );
  } finally {
    await serving?.end('SIGKILL');
    site.remove();
  }
}
