// A data center is switched on: 1,000 machines of an inventory of 10,000 boot within a minute, each with its own address: firmware's
// DHCP, the loader over TFTP, iPXE's DHCP, the entry script, its own script.

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { needPackages } from '../interop/packages.ts';
import { RackProcess } from '../lab/rack/rack-process.ts';
import { putLoader } from './boot-files.ts';
import { printTable, say } from './figures.ts';
import { cpuSecondsOf } from './process-cost.ts';
import { largeRack } from './rack.ts';
import type { StormReport } from './storm-report.ts';
import { BenchWire, SERVER } from './wire.ts';

const NODES = 10_000;
/** After the last one is switched on: as long as firmware retransmits. */
const PATIENCE_MS = 120_000;
/** The inventory's addresses: 10.100.1.0 to 10.100.63.255, as prefixes. */
const MACHINES_AT = ['1.0/24', '2.0/23', '4.0/22', '8.0/21', '16.0/20', '32.0/19'].map((end) => `10.100.${end}`);

export async function benchStorm(machines = 1000, seconds = 60): Promise<void> {
  needPackages(['iproute2']);
  await BenchWire.during(1, async (wire) => {
    const { result, cpu } = await stormOn(wire, await rackOf(wire), machines, seconds);
    report(machines, result, cpu);
  });
}

/** An appliance with 10,000 nodes. */
export async function rackOf(wire: BenchWire): Promise<RackProcess> {
  putLoader(wire.state);
  const rack = largeRack(NODES, { interface: wire.serverInterface, dhcp: 'authoritative' });
  writeFileSync(join(wire.folder, 'rack.json'), JSON.stringify(rack));
  const listen = { boot: `${SERVER}:8080`, management: '127.0.0.1:8443' };
  const appliance = await wire.coldiron({ listen, inventory: ['rack.json'] });
  await beAllMachines(wire);
  return appliance;
}

/** `cpu`: milliseconds of the appliance's processor time per machine. */
export async function stormOn(
  wire: BenchWire,
  appliance: RackProcess,
  machines: number,
  seconds: number,
): Promise<{ readonly result: StormReport; readonly cpu: number }> {
  const program = [process.execPath, fileURLToPath(import.meta.resolve('./storm-client.ts'))] as const;
  const size = [machines, NODES, seconds].map(String);
  const cpuBefore = cpuSecondsOf(appliance.pid);
  const client = new RackProcess(wire.client, [...program, SERVER, ...size]);
  try {
    const line = await client.line((text) => text.startsWith('{'), seconds * 1000 + PATIENCE_MS);
    return { result: JSON.parse(line), cpu: ((cpuSecondsOf(appliance.pid) - cpuBefore) * 1000) / machines };
  } finally {
    await client.end();
  }
}

/** One namespace for all machines: it replies for each of their addresses, and broadcasts in their network. */
async function beAllMachines({ client }: BenchWire): Promise<void> {
  for (const prefix of MACHINES_AT) await client.run('ip', 'route', 'add', 'local', prefix, 'dev', 'lo');
  await client.run('ip', 'route', 'add', '255.255.255.255', 'dev', client.uplink);
}

/** `cpu`: milliseconds of the appliance's processor time per machine. */
function report(machines: number, { lost, failures, resent, seconds, phases }: StormReport, cpu: number): void {
  const ms = (value: number): string => value.toFixed(1);
  printTable(
    [`${machines} machines, ms`, 'done', 'p50', 'p99', 'max'],
    phases.map(({ phase, count, p50, p99, max }) => [phase, String(count), ms(p50), ms(p99), ms(max)]),
  );
  say(`all of it took ${seconds.toFixed(1)} s; ${resent} packets or requests were repeated`);
  for (const failure of failures) say(`lost: ${failure}`);
  const script = phases.find(({ phase }) => phase === 'own script');
  const times = `p50_ms=${ms(script?.p50 ?? Number.NaN)} p99_ms=${ms(script?.p99 ?? Number.NaN)}`;
  say(`storm: machines=${machines} lost=${lost} ${times} resent=${resent} cpu_ms_per_machine=${cpu.toFixed(2)}`);
}
