import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { needPackages } from '../packages.ts';
import { Lab, type LabNetwork } from './lab.ts';

const NETWORK: LabNetwork = {
  name: 'large',
  prefix: '10.88.0.0/16',
  server: '10.88.0.1',
  device: 's1',
  from: '10.88.10.0',
  to: '10.88.250.250',
};

let lab: Lab;
beforeAll(() => needPackages(['kea-admin', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
  lab.namespaces.add('server', 'client');
  lab.namespaces.connect(
    { namespace: 'server', device: 's1', address: '10.88.0.1/16' },
    { namespace: 'client', device: 'c1', address: '10.88.0.2/16' },
  );
});
afterEach(async () => await lab.remove());

/** Both halves of its report: DISCOVER-OFFER and REQUEST-ACK. On a busy machine it sends a few more than it was told to. */
function expectNothingLost(output: string): void {
  const numbers = (of: RegExp): number[] => [...output.matchAll(of)].map(([, number]) => Number(number));
  const sent = numbers(/^sent packets: (\d+)/gm);
  expect(sent).toHaveLength(2);
  expect(Math.min(...sent)).toBeGreaterThanOrEqual(100);
  expect(numbers(/^received packets: (\d+)/gm)).toEqual(sent);
}

describe('perfdhcp', () => {
  const patiently = ['-r', '50', '-R', '100', '-n', '100', '-d', '10', '-W', '2000000', '-xi'];

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

/** What the storm's clients were acknowledged. The last line may be half of one. */
function acknowledged(output: string): { mac: string; address: string }[] {
  const lines = output.split('\n').slice(0, -1);
  return lines.filter((line) => line.includes('address')).map((line) => JSON.parse(line));
}

/** Of the last whole line, without reading all those before it. */
const countOf = (output: string): number => Number(/"count":(\d+)}\n[^\n]*$/.exec(output.slice(-500))?.[1] ?? 0);

describe('killed in the middle of a storm, twenty times', () => {
  it('the server has lost no lease that a client was acknowledged, and given none twice', async () => {
    const storm = lab.client('client', 'storm', 'c1', '10.88.0.2', '10.88.0.1');
    await storm.says(/storming/);
    for (let round = 0; round < 20; round++) {
      const before = countOf(storm.output);
      const server = await lab.serve([NETWORK], '--ignore-others');
      // Some leases have been given by this server, others are on their way.
      await storm.until((output) => (countOf(output) >= before + 100 ? true : null), 'a hundred more leases');
      await server.stop('SIGKILL');
      const stored = new Map((await lab.leases()).map(({ address, mac }) => [address as string, mac as string]));
      const lost = acknowledged(storm.output).filter(({ mac, address }) => stored.get(address) !== mac);
      expect(lost).toEqual([]);
    }
    const addresses = acknowledged(storm.output).map(({ address }) => address);
    expect(addresses.length).toBeGreaterThanOrEqual(2000);
    expect(new Set(addresses).size).toBe(addresses.length);
  }, 300_000);
});
