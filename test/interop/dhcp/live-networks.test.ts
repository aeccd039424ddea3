// Networks that are added, changed and removed while the appliance runs, as a user does it: the inventory file is edited and
// applied. Nothing is restarted.

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { PE_MACHINE, peFile, put } from '../../assets/tiny-files.ts';
import { ip, mac } from '../../boot/leases/lease-fixtures.ts';
import { coldiron, ROOT } from '../../process/appliance.ts';
import { optionOf } from '../../servers/dhcp/raw-packet.ts';
import { packet } from '../../servers/dhcp/rig.ts';
import type { Running } from '../namespaces.ts';
import { needPackages } from '../packages.ts';
import { inventoryOf, Lab, type LabNetwork, NETWORK, SECOND } from './lab.ts';

const FIRST: LabNetwork = { ...NETWORK, to: '10.88.0.149' };

const SITE = `listen: { boot: 0.0.0.0:8080, management: 127.0.0.1:0 }
inventory: [lab.yaml]
`;
const LOADER = Buffer.concat([peFile(PE_MACHINE.x86_64), Buffer.alloc(40_000, 'iron')]);
const ACK = Buffer.of(5);

let lab: Lab;
let appliance: Running;
beforeAll(() => needPackages(['isc-dhcp-client', 'tftp-hpa', 'curl', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
  lab.namespaces.add('server', 'left', 'right');
});
afterEach(async () => await lab.remove());

const site = (): string => join(lab.folder, 'coldiron.yaml');

function plugIn(network: LabNetwork, namespace: string, device: string, options: { isDown?: boolean } = {}): void {
  const served = { namespace: 'server', device: network.device, address: `${network.server}/24`, ...options };
  lab.namespaces.connect(served, { namespace, device });
}

function declare(networks: readonly LabNetwork[]): string {
  const file = join(lab.folder, 'lab.yaml');
  writeFileSync(file, inventoryOf(networks));
  return file;
}

async function serve(...networks: readonly LabNetwork[]): Promise<void> {
  writeFileSync(site(), SITE);
  declare(networks);
  put(join(lab.state, 'assets/loader'), 'ipxe.efi', LOADER);
  appliance = lab.namespaces.start('server', join(ROOT, 'coldiron'), 'serve', '-c', site());
  await appliance.says(/Coldiron is up/);
}

/** As a user does it, after an edit. */
function apply(...networks: readonly LabNetwork[]): void {
  expect(coldiron(['apply', declare(networks), '--config', site()])).toMatchObject({ status: 0, stderr: '' });
}

/** The client has an address, and fetches the loader as firmware does, over TFTP, and over HTTP. */
async function expectLoader(namespace: string, device: string, address: string, server: string): Promise<void> {
  lab.namespaces.ip(namespace, 'address', 'add', `${address}/24`, 'dev', device);
  const file = join(lab.folder, `${namespace}-loader`);
  await lab.namespaces.run(namespace, 'tftp', '-m', 'binary', server, '-c', 'get', 'ipxe.efi', file);
  expect(readFileSync(file).equals(LOADER)).toBe(true);
  const url = `http://${server}:8080/boot/loader/ipxe.efi`;
  expect((await lab.namespaces.run(namespace, 'curl', '-sSf', '-o', `${file}-http`, url)).output).toBe('');
  expect(readFileSync(`${file}-http`).equals(LOADER)).toBe(true);
}

it('a network added on another interface is served, with all its boot files', async () => {
  plugIn(FIRST, 'left', 'c1');
  plugIn(SECOND, 'right', 'c2');
  await serve(FIRST);
  expect(await lab.dhclient('left', 'c1')).toBe('10.88.0.100');
  apply(FIRST, SECOND);
  const address = await lab.dhclient('right', 'c2');
  expect(address).toBe('10.89.0.100');
  await expectLoader('right', 'c2', address, SECOND.server);
});

it('new clients get an address of a changed pool, and existing leases are kept', async () => {
  plugIn(FIRST, 'left', 'c1');
  await serve(FIRST);
  const hadByDhclient = await lab.dhclient('left', 'c1');
  const wire = await lab.wire('left', 'c1');
  const ask = async (type: 'discover' | 'request', asks: Parameters<typeof packet>[2]) =>
    (await wire.ask(encodeDhcp(packet(type, mac(1), asks), { maxBytes: 1472 }).bytes)).packet;
  const had = (await ask('discover', { xid: 1 })).yiaddr as Ipv4;
  await ask('request', { xid: 2, requested: had, server: ip(FIRST.server) });
  expect([hadByDhclient, had]).toEqual(['10.88.0.100', '10.88.0.101']);
  // A renewal is answered to the renewed address.
  lab.namespaces.ip('left', 'address', 'add', `${had}/24`, 'dev', 'c1');

  apply({ ...FIRST, from: '10.88.0.200', to: '10.88.0.249' });
  const renewed = await ask('request', { xid: 3, ciaddr: had });
  expect([optionOf(renewed, 53), renewed.yiaddr]).toEqual([ACK, had]);
  await wire.close();
  expect(await lab.dhclient('left', 'c1')).toBe(hadByDhclient);
  lab.namespaces.ip('left', 'link', 'add', 'link', 'c1', 'name', 'm1', 'type', 'macvlan', 'mode', 'bridge');
  lab.namespaces.ip('left', 'link', 'set', 'm1', 'up');
  expect(await lab.dhclient('left', 'm1')).toBe('10.88.0.200');
});

it('a network that is disabled or removed is no longer served, and served again when it returns; the other one is not affected', async () => {
  plugIn(FIRST, 'left', 'c1');
  plugIn(SECOND, 'right', 'c2');
  await serve(FIRST, SECOND);
  const had = await lab.dhclient('left', 'c1');
  const noLonger = /dhcp: no longer answers on s1/g;
  const silent: readonly LabNetwork[][] = [[{ ...FIRST, dhcp: 'off' }], []];
  for (const [times, remains] of silent.entries()) {
    apply(...remains, SECOND);
    await appliance.until((output) => ((output.match(noLonger)?.length ?? 0) > times ? true : null), `${noLonger}`);
    const [left, right] = await Promise.all([lab.dhclientOnce('left', 'c1'), lab.dhclient('right', 'c2')]);
    expect(left.output).toContain('No DHCPOFFERS received');
    expect(right).toBe('10.89.0.100');
    apply(FIRST, SECOND);
    expect(await lab.dhclient('left', 'c1')).toBe(had);
  }
});

it('a network whose interface is missing is reported, and served when the interface exists and was probed for other servers', async () => {
  plugIn(FIRST, 'left', 'c1');
  await serve(FIRST);
  apply(FIRST, SECOND);
  await appliance.says(/dhcp: does not answer on s2/);
  const { stdout } = coldiron(['check', '--config', site()]);
  expect(stdout).toMatch(/^Not answering: DHCP on s2 \(second\): .*this machine has no such interface$/m);
  expect(stdout).toMatch(/^Not answering: TFTP on 10\.89\.0\.1:69: .*this machine does not have that address$/m);
  const health = await lab.namespaces.run('server', 'curl', '-sS', 'http://10.88.0.1:8080/health');
  expect(JSON.parse(health.output)).toMatchObject({ status: 'degraded', services: { dhcp: 'failed', tftp: 'failed' } });

  plugIn(SECOND, 'right', 'c2', { isDown: true });
  await appliance.says(/cannot check on s2 whether another DHCP server assigns addresses there/);
  lab.namespaces.ip('server', 'link', 'set', 's2', 'up');
  const address = await lab.dhclient('right', 'c2');
  expect(address).toBe('10.89.0.100');
  await expectLoader('right', 'c2', address, SECOND.server);
  expect(coldiron(['check', '--config', site()]).stdout).not.toContain('Not answering');
});
