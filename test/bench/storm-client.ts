// The machines of the boot storm, in a separate process in the clients' network: MACHINES of the NODES in the inventory are
// switched on at random moments within SECONDS. Prints one line of JSON when the last one is done.
//
//   storm-client.ts SERVER MACHINES NODES SECONDS

import { setTimeout } from 'node:timers/promises';
import { percentile } from './figures.ts';
import { macOf, uuidOf } from './rack.ts';
import { capturedStages, StormDhcp } from './storm-dhcp.ts';
import { fetchScript, StormMachine } from './storm-machine.ts';
import type { StormReport } from './storm-report.ts';
import { fetchLoader } from './storm-tftp.ts';

const [server = '', machines = 0, nodes = 0, seconds = 0] = process.argv
  .slice(2)
  .map((argument, at) => (at === 0 ? argument : Number(argument))) as [string, number, number, number];

const stages = capturedStages();
const dhcp = await StormDhcp.open();
const times = new Map<string, number[]>();
const failures: string[] = [];
let resent = 0;

async function timed<T>(phase: string, work: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const result = await work();
  times.set(phase, [...(times.get(phase) ?? []), performance.now() - began]);
  return result;
}

async function boot(machine: StormMachine): Promise<void> {
  const first = await timed('address, firmware', () => dhcp.exchange(machine, stages.firmware));
  if (first.file === '') throw new Error('it was sent to no loader');
  const loaded = await timed('loader over TFTP', () => fetchLoader(first.yiaddr, server, first.file));
  const second = await timed('address, iPXE', () => dhcp.exchange(machine, stages.ipxe));
  const entry = await timed('boot.ipxe', () => fetchScript(second.yiaddr, second.file));
  const own = await timed('own script', () => fetchScript(second.yiaddr, machine.scriptUrl(second.file)));
  resent += loaded.resent + entry.resent + own.resent;
}

async function switchOn(at: number): Promise<void> {
  await setTimeout(Math.random() * seconds * 1000);
  // Spread over the inventory, not only its start.
  const node = Math.floor((at * nodes) / machines);
  const machine = new StormMachine(macOf(node), uuidOf(node));
  await boot(machine).catch((error: Error) => failures.push(`${machine.mac}: ${error.message}`));
}

const began = performance.now();
await Promise.all(Array.from({ length: machines }, (_, at) => switchOn(at)));
dhcp.close();
const report: StormReport = {
  lost: failures.length,
  failures: failures.slice(0, 10),
  resent: resent + dhcp.resent,
  seconds: (performance.now() - began) / 1000,
  phases: [...times].map(([phase, ms]) => ({
    phase,
    count: ms.length,
    p50: percentile(ms, 0.5),
    p99: percentile(ms, 0.99),
    max: Math.max(...ms),
  })),
};
process.stdout.write(`${JSON.stringify(report)}\n`);
