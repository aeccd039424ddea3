// What 1,000 listeners of the event stream cost while a data center is switched on: the same storm with and without them.

import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { needPackages } from '../interop/packages.ts';
import { printTable, say } from './figures.ts';
import { megabytesOf } from './process-cost.ts';
import { rackOf, stormOn } from './storm.ts';
import type { StormReport } from './storm-report.ts';
import { BenchWire } from './wire.ts';

const READY_WITHIN_MS = 300_000;

interface Run {
  readonly listeners: number;
  readonly result: StormReport;
  readonly cpu: number;
  readonly memory: number;
  /** Bytes to all listeners during the storm. */
  readonly bytes: number;
  readonly disconnected: number;
}

export async function benchStream(listeners = 1000, machines = 1000, seconds = 60): Promise<void> {
  needPackages(['iproute2']);
  const without = await stormWith(0, machines, seconds);
  const withThem = await stormWith(listeners, machines, seconds);
  const ms = (value: number): string => value.toFixed(1);
  printTable(
    [
      `${machines} machines in ${seconds} s`,
      'lost',
      'script p50 ms',
      'script p99 ms',
      'CPU ms/machine',
      'memory MB',
      'sent MB',
    ],
    [without, withThem].map((run) => [
      `${run.listeners} listeners`,
      String(run.result.lost),
      ms(script(run.result).p50),
      ms(script(run.result).p99),
      run.cpu.toFixed(2),
      run.memory.toFixed(0),
      (run.bytes / 1e6).toFixed(1),
    ]),
  );
  for (const { listeners: count, result } of [without, withThem]) {
    for (const { phase, p50, p99, max } of result.phases) {
      say(`${count} listeners: ${phase} p50 ${ms(p50)} p99 ${ms(p99)} max ${ms(max)} ms`);
    }
  }
  const times = `p99_ms=${ms(script(withThem.result).p99)} p99_without_ms=${ms(script(without.result).p99)}`;
  const cost = `cpu_ms_per_machine=${withThem.cpu.toFixed(2)} cpu_without_ms=${without.cpu.toFixed(2)}`;
  const ends = `lost=${withThem.result.lost} disconnected=${withThem.disconnected} rss_mb=${withThem.memory.toFixed(0)}`;
  say(`stream: listeners=${listeners} ${ends} ${times} ${cost}`);
}

async function stormWith(listeners: number, machines: number, seconds: number): Promise<Run> {
  let run: Run | null = null;
  await BenchWire.during(1, async (wire) => {
    const appliance = await rackOf(wire);
    const program = fileURLToPath(import.meta.resolve('./stream-listeners.ts'));
    const token = join(wire.state, 'admin-token');
    const readers = listeners === 0 ? null : wire.serve([process.execPath, program, '8443', String(listeners), token]);
    const ready = await readers?.line((line) => line.startsWith('ready '), READY_WITHIN_MS);
    if (ready !== undefined) say(`all snapshots were sent: ${ready.slice('ready '.length)}`);
    const { result, cpu } = await stormOn(wire, appliance, machines, seconds);
    let got = { lost: 0, bytes: 0 };
    if (readers) {
      process.kill(readers.pid, 'SIGUSR2');
      const line = await readers.line((text) => text.startsWith('got '), 30_000);
      got = JSON.parse(line.slice('got '.length));
    }
    const memory = megabytesOf(appliance.pid, 'VmHWM');
    run = { listeners, result, cpu, memory, bytes: got.bytes, disconnected: got.lost };
  });
  if (run === null) throw new Error('the storm did not run');
  return run;
}

function script({ phases }: StormReport): { readonly p50: number; readonly p99: number } {
  return phases.find(({ phase }) => phase === 'own script') ?? { p50: Number.NaN, p99: Number.NaN };
}
