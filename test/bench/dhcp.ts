// DHCP exchanges of four packets per second: ours, with every lease on disk before its ACK, against Kea, which writes leases to
// a file without syncing it, and dnsmasq.

import { needPackages } from '../interop/packages.ts';
import { DHCP_PEERS, type DhcpServerUnderTest, OURS } from './dhcp-servers.ts';
import { type Figure, printTable, printVerdict, shown } from './figures.ts';
import { highestRate, type Search } from './highest-rate.ts';
import { perfdhcp, type Step } from './perfdhcp.ts';
import { cpuSecondsOf } from './process-cost.ts';
import { BenchWire, SERVER } from './wire.ts';

const STEP_SECONDS = 2;
const FIRST_RATE = 250;
const UP_WITHIN_MS = 20_000;

interface Measured extends Search {
  /** The server's processor time per exchange at that rate: comparable on a busy machine, too. */
  readonly cpuMicroseconds: number;
}

/** Alternating, so that a slow minute of the host affects all of them. */
const ROUNDS = 3;

export async function benchDhcp(stepSeconds = STEP_SECONDS, rounds = ROUNDS): Promise<void> {
  needPackages(['kea-dhcp4-server', 'kea-admin', 'dnsmasq-base', 'iproute2']);
  await BenchWire.during(1, (wire) => compare(wire, stepSeconds, rounds));
}

async function compare(wire: BenchWire, stepSeconds: number, rounds: number): Promise<void> {
  const servers = [OURS, ...DHCP_PEERS];
  const searches = servers.map((): Measured[] => []);
  for (let round = 0; round < rounds; round++) {
    for (const [at, server] of servers.entries()) searches[at]?.push(await measure(wire, server, stepSeconds));
  }
  const results = servers.map(({ name }, at): Figure & Measured => {
    const measured = middleOf(searches[at] ?? []);
    return { name, value: measured.lossless, ...measured };
  });
  printTable(
    ['4-way exchanges/s', 'without loss', 'most completed', 'limited by', 'CPU µs each'],
    results.map(({ name, lossless, most, limitedBy, cpuMicroseconds }) => [
      name,
      shown(lossless),
      shown(most),
      limitedBy,
      shown(cpuMicroseconds),
    ]),
  );
  const [ours, ...peers] = results;
  if (ours) printVerdict('dhcp', ours.value, peers);
}

/** The search with the median rate without loss. */
function middleOf(searches: readonly Measured[]): Measured {
  const [middle] = searches.toSorted((one, other) => one.lossless - other.lossless).slice(searches.length >> 1);
  if (!middle) throw new Error('nothing was measured');
  return middle;
}

async function measure(wire: BenchWire, server: DhcpServerUnderTest, stepSeconds: number): Promise<Measured> {
  const running = await server.start(wire);
  const exchanges = (rate: number, seconds: number): Promise<Step> =>
    perfdhcp(wire.client, wire.clientAddress(0), SERVER, rate, seconds);
  const deadline = performance.now() + UP_WITHIN_MS;
  while ((await exchanges(10, 1)).completed === 0) {
    if (performance.now() > deadline) throw new Error(`${server.name} does not answer:\n${running.lines.join('\n')}`);
  }
  const costs = new Map<number, number>();
  const search = await highestRate(FIRST_RATE, async (rate) => {
    const before = cpuSecondsOf(running.pid);
    const step = await exchanges(rate, stepSeconds);
    const spent = cpuSecondsOf(running.pid) - before;
    costs.set(step.completed, (spent * 1e6) / (step.completed * stepSeconds));
    return step;
  });
  const cpuMicroseconds = costs.get(search.lossless || search.most) ?? Number.NaN;
  await wire.end(running);
  return { ...search, cpuMicroseconds };
}
