// Machines behind a bad cable to a real appliance: each gets its address by DHCP and its loader by TFTP, although
// frames are lost, duplicated and reordered.

import { randomFillSync } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openSqliteStoreReadOnly } from '../../../appliance/store/sqlite/sqlite.ts';
import { PE_MACHINE, peFile, put } from '../../assets/tiny-files.ts';
import { ROOT } from '../../process/appliance.ts';
import { Lab } from '../dhcp/lab.ts';
import type { Running } from '../namespaces.ts';
import { needPackages } from '../packages.ts';

const BAD_CABLE = join(import.meta.dirname, 'bad-cable.ts');
const SERVER = '10.88.0.1';
const SITE = `listen: { boot: 127.0.0.1:0, management: 127.0.0.1:0 }
sites: [{ name: lab, bmc_mode: disabled }]
networks:
  - { name: lab, prefix: 10.88.0.0/24, server: ${SERVER}, interface: s1, dhcp: authoritative, unknown: inspect, pools: [{ from: 10.88.0.100, to: 10.88.0.199 }] }
`;

/** All blocks differ. */
const loader = (bytes: number): Buffer =>
  Buffer.concat([peFile(PE_MACHINE.x86_64), randomFillSync(Buffer.alloc(bytes))]);
/** Block by block, each lost block costs a second or two; in windows, several are recovered at once. */
const LOADERS = {
  'snponly.efi': loader(8_001),
  'ipxe.efi': loader(20_001),
  'shimx64.efi': loader(50_001),
  'grubx64.efi': loader(100_001),
} as const;
type LoaderName = keyof typeof LOADERS;

interface Machine {
  readonly name: string;
  readonly loads: LoaderName;
  readonly terms: { readonly blockSize: number; readonly windowSize: number };
  readonly program: (to: string) => readonly [string, ...string[]];
}

/** It requests our timeout to be as long as its own: a third of these seconds. */
const CURL_GIVES_UP_AFTER = '8';
const atftp = (windowSize: number, loads: LoaderName): Machine => ({
  name: `atftp-${windowSize}`,
  loads,
  terms: { blockSize: 1468, windowSize },
  program: (to) => {
    const options = ['blksize 1468', `windowsize ${windowSize}`].flatMap((option) => ['--option', option]);
    return ['atftp', ...options, '-g', '-r', loads, '-l', to, SERVER];
  },
});
const MACHINES: readonly Machine[] = [
  {
    name: 'tftp-hpa',
    loads: 'snponly.efi',
    terms: { blockSize: 512, windowSize: 1 },
    program: (to) => ['tftp', '-m', 'binary', SERVER, '-c', 'get', 'snponly.efi', to],
  },
  {
    name: 'curl-512',
    loads: 'snponly.efi',
    terms: { blockSize: 512, windowSize: 1 },
    program: (to) => ['curl', '-sS', '--tftp-no-options', '-o', to, `tftp://${SERVER}/snponly.efi`],
  },
  {
    name: 'curl-1468',
    loads: 'ipxe.efi',
    terms: { blockSize: 1468, windowSize: 1 },
    program: (to) => {
      const options = ['--connect-timeout', CURL_GIVES_UP_AFTER, '--tftp-blksize', '1468'];
      return ['curl', '-sSv', ...options, '-o', to, `tftp://${SERVER}/ipxe.efi`];
    },
  },
  atftp(1, 'ipxe.efi'),
  atftp(4, 'shimx64.efi'),
  atftp(16, 'grubx64.efi'),
];

let lab: Lab;
beforeAll(() => needPackages(['isc-dhcp-client', 'tftp-hpa', 'atftp', 'curl', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
});
afterEach(async () => await lab.remove());

/** All machines are on one switch; the bad cable leads from there to the appliance. */
async function layCable(): Promise<Running> {
  const { namespaces } = lab;
  namespaces.add('server', ...MACHINES.map(({ name }) => name));
  namespaces.switch('switch', ...MACHINES.map(({ name }) => ({ namespace: name, device: 'c1' })));
  const cable = namespaces.start('switch', process.execPath, BAD_CABLE, '1', 'uplink', 's1');
  await cable.says(/carrying/);
  namespaces.ip('switch', 'link', 'set', 'uplink', 'master', 'switch0', 'up');
  const server = (await namespaces.run('server', 'ip', 'netns', 'identify')).output.trim();
  namespaces.ip('switch', 'link', 'set', 's1', 'netns', server);
  namespaces.ip('server', 'address', 'add', `${SERVER}/24`, 'dev', 's1');
  namespaces.ip('server', 'link', 'set', 's1', 'up');
  lookPatiently('server', 's1');
  for (const { name } of MACHINES) lookPatiently(name, 'c1');
  return cable;
}

/** The kernel sends three ARP requests: on such a cable that is not always enough. */
function lookPatiently(namespace: string, device: string): void {
  const often = ['mcast_probes', '10', 'ucast_probes', '10'];
  lab.namespaces.ip(namespace, 'ntable', 'change', 'name', 'arp_cache', 'dev', device, ...often);
}

async function startAppliance(): Promise<Running> {
  for (const [name, bytes] of Object.entries(LOADERS)) put(join(lab.state, 'assets/loader'), name, bytes);
  const site = join(lab.folder, 'coldiron.yaml');
  writeFileSync(site, SITE);
  const appliance = lab.namespaces.start('server', join(ROOT, 'coldiron'), 'serve', '-c', site, '--state', lab.state);
  await appliance.says(/Coldiron is up/);
  return appliance;
}

/**
 * A second OACK, because the reply to the first was lost or the network duplicated it: atftp gives up, and curl, which has a
 * block by then, counts from one again and waits for data that would be in its file twice. They start again.
 */
const NOT_BORNE = [/tftp: unexpected OACK/, /unexpected DATA packet block \d+, expecting block 1\b.*curl: \(71\)/s];

/** Resolves with its address, when it has everything. */
async function boot({ name, loads, program }: Machine): Promise<string> {
  const address = await lab.dhclient(name, 'c1');
  lab.namespaces.ip(name, 'address', 'add', `${address}/24`, 'dev', 'c1');
  await Promise.all([load(name, loads, program), askAgain(name, address)]);
  return address;
}

async function load(name: string, loads: LoaderName, program: Machine['program']): Promise<void> {
  const file = join(lab.folder, name);
  for (;;) {
    const { status, output } = await lab.namespaces.run(name, ...program(file));
    if (NOT_BORNE.some((words) => words.test(output))) continue;
    expect(status, `${name}: ${output}`).toBe(0);
    break;
  }
  expect(readFileSync(file).equals(LOADERS[loads]), `${name} has another ${loads}`).toBe(true);
}

async function askAgain(name: string, address: string): Promise<void> {
  for (let time = 0; time < 3; time++) expect(await lab.dhclient(name, 'c1')).toBe(address);
}

/** An event of the appliance's trail. */
interface TrailEvent {
  readonly address: string;
  readonly because?: string;
  readonly resent?: number;
}

async function eventsOf(kind: string): Promise<TrailEvent[]> {
  const store = await openSqliteStoreReadOnly({ file: join(lab.state, 'coldiron.db') });
  const events = await store.events({ kind, limit: 1000 });
  await store.close();
  return events.map(({ data }) => data as unknown as TrailEvent);
}

describe('a cable that loses every fifth frame, and duplicates or delays others', () => {
  it('gives all machines an address, and their loaders unchanged', async () => {
    const cable = await layCable();
    const appliance = await startAppliance();
    const addresses = await Promise.all(MACHINES.map(boot));
    // Transfers whose last ACK was lost end now, and are recorded.
    expect(await appliance.stop()).toMatchObject({ status: 0 });

    const { output } = await cable.stop();
    const done = JSON.parse(output.match(/{.*}/)?.[0] ?? '{}');
    expect(done.lost / done.carried).toBeCloseTo(0.2, 1);
    expect(done.doubled).toBeGreaterThan(0);
    expect(done.overtaken).toBeGreaterThan(0);

    const leases = await lab.leases();
    expect(leases.map(({ address }) => address as string).sort()).toEqual([...addresses].sort());
    expect((await eventsOf('dhcp.ack')).map(({ because }) => because)).toContain('repeated');
    const transfers = await eventsOf('tftp');
    for (const [at, { terms }] of MACHINES.entries()) {
      const last = transfers.findLast(({ address }) => address === addresses[at]);
      expect(last).toMatchObject(terms);
      expect(last?.resent).toBeGreaterThan(0);
    }
  });
});
