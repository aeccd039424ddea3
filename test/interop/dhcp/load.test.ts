import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { readPcap } from '../../captures/read-pcap.ts';
import { ROOT } from '../../process/appliance.ts';
import { readRaw } from '../../servers/dhcp/raw-packet.ts';
import type { Running } from '../namespaces.ts';
import { needPackages } from '../packages.ts';
import { type Capture, Lab, type LabNetwork } from './lab.ts';

const NETWORK: LabNetwork = {
  name: 'large',
  prefix: '10.88.0.0/16',
  server: '10.88.0.1',
  device: 's1',
  from: '10.88.10.0',
  to: '10.88.250.250',
};

let lab: Lab;
beforeAll(() => needPackages(['kea-admin', 'tcpdump', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
  lab.namespaces.add('server', 'client');
  lab.namespaces.connect(
    { namespace: 'server', device: 's1', address: '10.88.0.1/16' },
    { namespace: 'client', device: 'c1', address: '10.88.0.2/16' },
  );
});
afterEach(async () => await lab.remove());

/** Both halves of its report: DISCOVER-OFFER and REQUEST-ACK. On a busy machine it sends a few more than configured. */
function expectNothingLost(output: string): void {
  const numbers = (of: RegExp): number[] => [...output.matchAll(of)].map(([, number]) => Number(number));
  const sent = numbers(/^sent packets: (\d+)/gm);
  expect(sent).toHaveLength(2);
  expect(Math.min(...sent)).toBeGreaterThanOrEqual(100);
  expect(numbers(/^received packets: (\d+)/gm)).toEqual(sent);
}

describe('perfdhcp', () => {
  /** -W: it waits this many microseconds for the last replies, which are sent when a busy disk has stored the leases. */
  const patiently = ['-r', '50', '-R', '100', '-n', '100', '-d', '20', '-W', '10000000', '-xi'];

  it('loses nothing by broadcast', async () => {
    await lab.serve([NETWORK]);
    const { output } = await lab.namespaces.run(
      'client',
      'perfdhcp',
      '-4',
      '-B',
      '-l',
      'c1',
      ...patiently,
      '255.255.255.255',
    );
    expectNothingLost(output);
  });

  it('loses nothing as a relay, and every lease is on disk, each for one client', async () => {
    await lab.serve([NETWORK]);
    const { output } = await lab.namespaces.run(
      'client',
      'perfdhcp',
      '-4',
      '-l',
      '10.88.0.2',
      ...patiently,
      '10.88.0.1',
    );
    expectNothingLost(output);
    const leases = await lab.leases();
    expect(leases).toHaveLength(100);
    expect(new Set(leases.map(({ mac }) => mac)).size).toBe(100);
  });
});

describe('killed in the middle of a run of perfdhcp, twenty times', () => {
  const KILLS = 20;
  const { prefix, server, device, from, to } = NETWORK;
  const SITE = `listen: { boot: 127.0.0.1:0, management: 127.0.0.1:0 }
log: { level: warn }
dhcp: { ignore_other_servers: true }
sites: [{ name: lab, bmc_mode: disabled }]
networks:
  - { name: large, prefix: ${prefix}, server: ${server}, interface: ${device}, dhcp: authoritative, unknown: inspect, pools: [{ from: ${from}, to: ${to} }] }
`;

  async function startAppliance(): Promise<Running> {
    const site = join(lab.folder, 'coldiron.yaml');
    writeFileSync(site, SITE);
    const appliance = lab.namespaces.start('server', join(ROOT, 'coldiron'), 'serve', '-c', site, '--state', lab.state);
    await appliance.says(/Coldiron is up/);
    return appliance;
  }

  /** pcap-filter(7): replies whose first option is the message type ACK; all of ours begin with it. */
  const ACKS = 'src port 67 and udp[248:2] == 0x3501 and udp[250] == 5';
  const isHundredth = (output: string): true | null => ((output.match(/ Reply, /g) ?? []).length >= 100 ? true : null);

  it('the appliance loses no acknowledged lease, and assigns no address twice', async () => {
    const load = ['-r', '500', '-R', '1000000', '-p', '900', '-xi'];
    const perfdhcp = lab.namespaces.start('client', 'perfdhcp', '-4', '-l', '10.88.0.2', ...load, server);
    const acknowledged: { mac: string; address: string }[] = [];
    let witness: Capture | null = null;
    for (let kills = 0; ; kills++) {
      const appliance = await startAppliance();
      if (witness) {
        await witness.tcpdump.stop();
        const acks = readPcap(witness.file).map(({ payload }) => readRaw(payload));
        acknowledged.push(...acks.map(({ mac, yiaddr }) => ({ mac, address: yiaddr })));
      }
      const stored = new Map((await lab.leases()).map(({ address, mac }) => [address as string, mac as string]));
      expect(acknowledged.filter(({ mac, address }) => stored.get(address) !== mac)).toEqual([]);
      if (kills === KILLS) break;

      witness = await lab.capture('client', 'c1', '-n', '--print', ACKS);
      await witness.tcpdump.until(isHundredth, 'a hundred ACKs');
      await appliance.stop('SIGKILL');
    }
    expect(perfdhcp.isRunning).toBe(true);
    expect(new Set(acknowledged.map(({ mac }) => mac)).size).toBeGreaterThanOrEqual(KILLS * 100);
    const holders = Map.groupBy(acknowledged, ({ address }) => address);
    expect([...holders.values()].filter((acks) => new Set(acks.map(({ mac }) => mac)).size > 1)).toEqual([]);
  }, 600_000);
});
