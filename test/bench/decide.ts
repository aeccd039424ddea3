// Decisions per second with 10,000 nodes in memory: from a captured DISCOVER of real firmware to the boot decision and its reason.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { BootResolver } from '../../appliance/boot/boot-resolver.ts';
import { factsFromDhcp } from '../../appliance/boot/client-facts.ts';
import { decodeDhcp } from '../../appliance/codecs/dhcp4/decode.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { declaredInventory } from '../../appliance/inventory/declared-inventory.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import { readPcap } from '../captures/read-pcap.ts';
import { ownCpuSeconds } from './process-cost.ts';
import { largeRack, macOf } from './rack.ts';

const NODES = 10_000;
const ROUNDS = 500_000;

export async function benchDecide(): Promise<void> {
  const { problems, sources } = checkInventory([{ file: 'rack.yaml', name: 'rack', value: largeRack(NODES) }]);
  if (problems.length > 0) throw new Error(problems.join('\n'));
  const fleet = new Fleet();
  fleet.replace(declaredInventory(sources, Date.now(), randomUUID));
  const resolver = new BootResolver(fleet, Date.now);
  const [network] = [...fleet.networks()].filter((each) => each.server !== null);
  if (!network) throw new Error('the rack has no network to boot from');

  const captured = readPcap(join(import.meta.dirname, '../captures/uefi-x64-native.pcap')).find(
    ({ destinationPort }) => destinationPort === 67,
  );
  if (!captured) throw new Error('the capture holds no DHCP request');
  const packet = Uint8Array.from(captured.payload);
  const macs = Array.from({ length: NODES }, (_, at) =>
    Uint8Array.from(
      macOf(at)
        .split(':')
        .map((byte) => Number.parseInt(byte, 16)),
    ),
  );
  const facts = factsFromDhcp(decodeDhcp(packet));

  const whole = speedOf(ROUNDS, (round) => {
    packet.set(macs[round % NODES] ?? [], 28); // chaddr
    resolver.resolve(factsFromDhcp(decodeDhcp(packet)), network);
  });
  const known = Array.from({ length: NODES }, (_, at) => ({
    ...facts,
    mac: mustParse(parseMac(macOf(at))),
    uuid: null,
  }));
  const decision = speedOf(ROUNDS, (round) => {
    resolver.resolve(known[round % NODES] ?? facts, network);
  });
  const rows = [
    ['packet → facts → machine → decision', whole],
    ['machine → decision', decision],
  ] as const;
  for (const [what, { perSecond, cpuMicroseconds }] of rows) {
    const rate = Math.round(perSecond).toLocaleString('en');
    process.stdout.write(`${what.padEnd(46)}${rate} /s, ${cpuMicroseconds.toFixed(2)} µs of CPU each\n`);
  }
  const rates = `packets_per_s=${Math.round(whole.perSecond)} decisions_per_s=${Math.round(decision.perSecond)}`;
  const costs = `cpu_us_per_packet=${whole.cpuMicroseconds.toFixed(3)} cpu_us_per_decision=${decision.cpuMicroseconds.toFixed(3)}`;
  process.stdout.write(`decide: nodes=${NODES} ${rates} ${costs}\n`);
}

interface Speed {
  readonly perSecond: number;
  readonly cpuMicroseconds: number;
}

function speedOf(rounds: number, run: (round: number) => void): Speed {
  for (let warm = 0; warm < rounds / 10; warm++) run(warm);
  const [began, cpuBefore] = [performance.now(), ownCpuSeconds()];
  for (let round = 0; round < rounds; round++) run(round);
  return {
    perSecond: rounds / ((performance.now() - began) / 1000),
    cpuMicroseconds: ((ownCpuSeconds() - cpuBefore) * 1e6) / rounds,
  };
}
