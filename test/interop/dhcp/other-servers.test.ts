import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Running } from '../namespaces.ts';
import { needPackages } from '../packages.ts';
import { Lab, type LabNetwork } from './lab.ts';

const NETWORK: LabNetwork = {
  name: 'shared',
  prefix: '10.88.0.0/24',
  server: '10.88.0.1',
  device: 's1',
  from: '10.88.0.100',
  to: '10.88.0.149',
};

let lab: Lab;
beforeAll(() => needPackages(['dnsmasq-base', 'isc-dhcp-client', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
  lab.namespaces.add('server', 'other', 'client');
  lab.namespaces.switch(
    'switch',
    { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
    { namespace: 'other', device: 'o1', address: '10.88.0.2/24' },
    { namespace: 'client', device: 'c1' },
  );
});
afterEach(async () => await lab.remove());

async function dnsmasq(): Promise<Running> {
  const files = ['--conf-file=/dev/null', `--dhcp-leasefile=${join(lab.folder, 'dnsmasq')}`, '--pid-file='];
  const serving = ['--port=0', '--interface=o1', '--dhcp-range=10.88.0.200,10.88.0.220,1h', '--dhcp-authoritative'];
  const server = lab.namespaces.start('other', 'dnsmasq', '-k', '-d', '--no-ping', '--user=root', ...files, ...serving);
  await server.says(/DHCP, sockets bound|DHCP, IP range/);
  return server;
}

describe('beside dnsmasq as DHCP server', () => {
  it('we refuse to serve, and name it', async () => {
    await dnsmasq();
    const server = await lab.serve([NETWORK]);
    expect(server.states).toContain('another DHCP server, 10.88.0.2, assigns addresses on s1');
  });

  it('it is noticed when it appears later', async () => {
    const server = await lab.serve([NETWORK], '--no-probe');
    await dnsmasq();
    const asks = { type: 'discover', mac: '02:00:00:00:00:77' };
    const client = lab.client('client', 'once', 'c1', JSON.stringify(asks));
    await client.says(/"server":"10\.88\.0\.2"/);
    await server.says(/another server assigns addresses on \S+, via s1: 10\.88\.0\.2 \(it sent an OFFER\)/);
    const rogues = (await lab.notes()).filter(({ kind }) => kind === 'dhcp.rogue');
    expect(rogues.map(({ data }) => (data as { server: string }).server)).toEqual(['10.88.0.2']);
  });

  it("we add the boot options: firmware gets both replies, an operating system only dnsmasq's", async () => {
    await dnsmasq();
    const server = await lab.serve([{ ...NETWORK, dhcp: 'proxy' }]);
    expect(server.states).toContain('"refusedBecause":null');
    const mac = '02:00:00:00:00:77';
    const firmware = lab.client('client', 'once', 'c1', JSON.stringify({ type: 'discover', mac, pxe: true }));
    const [ours] = await firmware.says(/^.*"server":"10\.88\.0\.1".*$/m);
    const [theirs] = await firmware.says(/^.*"server":"10\.88\.0\.2".*$/m);
    await firmware.stop();
    expect(JSON.parse(ours)).toMatchObject({ type: 'offer', yiaddr: '0.0.0.0', siaddr: '10.88.0.1', file: 'ipxe.efi' });
    expect(JSON.parse(theirs)).toMatchObject({ type: 'offer', yiaddr: expect.stringMatching(/^10\.88\.0\.2\d\d$/) });
    expect(await lab.dhclient('client', 'c1')).toMatch(/^10\.88\.0\.2\d\d$/);
    const answered = (await lab.notes()).map(({ kind }) => kind);
    expect(answered.filter((kind) => kind === 'dhcp.offer')).toHaveLength(1);
    expect(answered).not.toContain('dhcp.ack');
  });

  it('firmware that sends a request to our boot server on port 4011 gets a reply from there', async () => {
    await lab.serve([{ ...NETWORK, dhcp: 'proxy' }]);
    lab.namespaces.ip('client', 'address', 'add', '10.88.0.201/24', 'dev', 'c1');
    const asks = { type: 'request', mac: '02:00:00:00:00:77', pxe: true, ciaddr: '10.88.0.201' };
    const boot = { ...asks, to: '10.88.0.1', port: 4011, from: 4011 };
    const firmware = lab.client('client', 'once', 'c1', JSON.stringify(boot));
    const [answer] = await firmware.says(/^.*"type":"ack".*$/m);
    expect(JSON.parse(answer)).toMatchObject({ file: 'ipxe.efi', from: { address: '10.88.0.1', port: 4011 } });
  });
});
