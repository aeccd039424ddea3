// An inventory of 10,000 nodes, or of another number (`apply=100000`), through the command line and a running appliance: first apply, apply without changes, and a
// one-node edit until a read shows it.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { dump } from 'js-yaml';
import { LOOPBACK_SITE, ServingProcess, SiteFolder } from '../process/appliance.ts';
import { median } from './figures.ts';
import { cpuSecondsOf } from './process-cost.ts';
import { largeRack } from './rack.ts';

const NODES = 10_000;

/** `cpuSeconds`: of the appliance, without the command. */
interface Apply {
  readonly seconds: number;
  readonly cpuSeconds: number;
}

export async function benchApply(nodes = NODES): Promise<void> {
  const site = new SiteFolder(`${LOOPBACK_SITE}log: { level: error }\n`);
  let serving: ServingProcess | null = null;
  try {
    const file = join(site.path, 'rack.yaml');
    const rack = largeRack(nodes);
    const save = (): void => writeFileSync(file, dump(rack));
    save();
    serving = await new ServingProcess(site.path).up();
    const { pid } = serving.child;
    if (pid === undefined) throw new Error('the appliance has no process');
    const apply = (): Apply => {
      const [began, cpuBefore] = [performance.now(), cpuSecondsOf(pid)];
      const run = site.run('apply', 'rack.yaml');
      if (run.status !== 0) throw new Error(run.stderr);
      return { seconds: (performance.now() - began) / 1000, cpuSeconds: cpuSecondsOf(pid) - cpuBefore };
    };
    const first = apply();
    const none = apply();
    const edits = Array.from({ length: 5 }, (_, round) => {
      const node = rack.nodes[(round * 1999) % nodes];
      if (node) node.labels.edit = String(round);
      save();
      return apply();
    });
    const edit = {
      seconds: median(edits.map(({ seconds }) => seconds)),
      cpuSeconds: median(edits.map(({ cpuSeconds }) => cpuSeconds)),
    };
    const rows = [
      [`first apply of ${nodes} nodes`, first],
      ['apply without a change', none],
      ['edit of one node, effective (median of 5)', edit],
    ] as const;
    for (const [what, { seconds, cpuSeconds }] of rows) {
      const cost = `${cpuSeconds.toFixed(2)} s of CPU in the appliance`;
      process.stdout.write(`${what.padEnd(46)}${seconds.toFixed(2)} s, ${cost}\n`);
    }
    const times = `first_s=${first.seconds.toFixed(2)} edit_s=${edit.seconds.toFixed(2)} none_s=${none.seconds.toFixed(2)}`;
    const costs = `first_cpu_s=${first.cpuSeconds.toFixed(2)} edit_cpu_s=${edit.cpuSeconds.toFixed(2)} none_cpu_s=${none.cpuSeconds.toFixed(2)}`;
    process.stdout.write(`apply: nodes=${nodes} ${times} ${costs}\n`);
  } finally {
    await serving?.end('SIGKILL');
    site.remove();
  }
}
