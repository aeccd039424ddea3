// 500 consoles that are captured at once: memory and processor time of the appliance's part, for machines that say nothing, that boot,
// and that send as fast as a serial line can.

import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { withSimulators } from './bmc-rack.ts';
import { printTable, say, shown } from './figures.ts';

const run = promisify(execFile);
const SECONDS = 20;
const SUITE = 17;

/** Bytes per second of one console. A boot of the service OS is about 50 KiB in half a minute; 115,200 baud are 11,520 bytes. */
const RATES: readonly (readonly [string, number])[] = [
  ['quiet', 0],
  ['booting, 1.7 kB/s each', 1700],
  ['115,200 baud each', 11_520],
];

interface Measured {
  readonly before: number;
  readonly during: number;
  readonly most: number;
  /** Of one core. */
  readonly cpu: number;
  readonly bytesPerSecond: number;
  readonly events: number;
  readonly stored: number;
}

export async function benchConsoles(count = 500): Promise<void> {
  const results: Measured[] = [];
  for (const [, rate] of RATES) results.push(await withSimulators(count, SUITE, () => measure(count), rate));
  printTable(
    [`${count} captured consoles`, 'MB before', 'MB', 'MB most', 'CPU % of a core', 'kB/s read', 'MB stored', 'events'],
    RATES.map(([name], at) => {
      const result = results[at];
      if (!result) return [name];
      const { before, during, most, cpu, bytesPerSecond, stored, events } = result;
      const numbers = [before, during, most, cpu * 100, bytesPerSecond / 1000, stored / 1e6].map(shown);
      return [name, ...numbers, String(events)];
    }),
  );
  const [, booting] = results;
  if (!booting) return;
  const each = ((booting.during - booting.before) * 1024) / count;
  say(
    `consoles: count=${count} rss_mb=${shown(booting.during)} kb_each=${shown(each)} cpu_percent=${shown(booting.cpu * 100)}`,
  );
}

async function measure(count: number): Promise<Measured> {
  const program = fileURLToPath(import.meta.resolve('./console-capture.ts'));
  return JSON.parse((await run(process.execPath, [program, String(count), String(SECONDS)])).stdout);
}
