import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { readPcap } from '../../captures/read-pcap.ts';
import { needPackages } from '../packages.ts';
import { Lab, type LabNetwork } from './lab.ts';

const NETWORK: LabNetwork = {
  name: 'first',
  prefix: '10.88.0.0/24',
  server: '10.88.0.1',
  device: 's1',
  from: '10.88.0.100',
  to: '10.88.0.199',
};
const SECOND: LabNetwork = {
  name: 'second',
  prefix: '10.89.0.0/24',
  server: '10.89.0.1',
  device: 's2',
  from: '10.89.0.100',
  to: '10.89.0.199',
};

let lab: Lab;
beforeAll(() => needPackages(['isc-dhcp-client', 'isc-dhcp-relay', 'udhcpc', 'tcpdump', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
});
afterEach(async () => await lab.remove());

/** Server and one client, by a cable. */
function byCable(): void {
  const { namespaces } = lab;
  namespaces.add('server', 'client');
  namespaces.connect(
    { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
    { namespace: 'client', device: 'c1' },
  );
}

describe('real clients', () => {
  it('dhclient and udhcpc get an address each, which is on disk, and their own again', async () => {
    byCable();
    await lab.serve([NETWORK]);
    const address = await lab.dhclient('client', 'c1');
    expect(address).toBe('10.88.0.100');
    expect(await lab.leases()).toMatchObject([{ address, network: 'first', state: 'bound' }]);
    const udhcpc = await lab.namespaces.run('client', 'udhcpc', '-i', 'c1', '-f', '-q', '-n', '-s', '/bin/true');
    expect(udhcpc.output).toContain(`lease of ${address} obtained`);
    expect(udhcpc.status).toBe(0);
  });

  it('an address that a stranger uses is passed over', async () => {
    const { namespaces } = lab;
    namespaces.add('server', 'client', 'stranger');
    namespaces.switch(
      'switch',
      { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
      { namespace: 'client', device: 'c1' },
      { namespace: 'stranger', device: 'x1', address: '10.88.0.100/24' },
    );
    await lab.serve([NETWORK]);
    expect(await lab.dhclient('client', 'c1')).toBe('10.88.0.101');
    expect((await lab.notes()).map(({ kind }) => kind)).toContain('dhcp.conflict');
  });

  it('a client that names neither server nor address is ignored, and the server lives on', async () => {
    byCable();
    await lab.serve([NETWORK], '--no-probe');
    const mac = '02:00:00:00:00:77';
    const sloppy = lab.client('client', 'once', 'c1', JSON.stringify({ type: 'request', mac }));
    await sloppy.says(/sent/);
    // What comes after it is answered, so it was dealt with before.
    await sloppy.stop();
    const proper = lab.client('client', 'once', 'c1', JSON.stringify({ type: 'discover', mac }));
    await proper.says(/"type":"offer"/);
    expect(sloppy.output).not.toContain('"type"');
    const told = (await lab.notes()).map(({ kind, data }) =>
      `${kind} ${(data as { because?: string }).because ?? ''}`.trim(),
    );
    expect(told).toEqual(['dhcp.request', 'dhcp.silent malformed', 'dhcp.discover', 'dhcp.offer pool']);
  });
});

describe('two interfaces with a network each', () => {
  it('never get each other’s answers', async () => {
    const { namespaces } = lab;
    namespaces.add('server', 'left', 'right');
    namespaces.connect(
      { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
      { namespace: 'left', device: 'c1' },
    );
    namespaces.connect(
      { namespace: 'server', device: 's2', address: '10.89.0.1/24' },
      { namespace: 'right', device: 'c2' },
    );
    const capture = async (namespace: string, device: string) => {
      const file = join(lab.folder, `${device}.pcap`);
      const filter = ['udp', 'and', '(', 'port', '67', 'or', 'port', '68', ')'];
      const tcpdump = namespaces.start(
        namespace,
        'tcpdump',
        '--immediate-mode',
        '-U',
        '-Z',
        'root',
        '-i',
        device,
        '-w',
        file,
        ...filter,
      );
      await tcpdump.says(/listening on/);
      return { file, tcpdump };
    };
    const left = await capture('left', 'c1');
    const right = await capture('right', 'c2');
    await lab.serve([NETWORK, SECOND], '--no-probe');
    const addresses = await Promise.all([lab.dhclient('left', 'c1'), lab.dhclient('right', 'c2')]);
    expect(addresses).toEqual(['10.88.0.100', '10.89.0.100']);
    for (const [{ file, tcpdump }, own] of [[left, '10.88.0.'] as const, [right, '10.89.0.'] as const]) {
      await tcpdump.stop();
      const replies = readPcap(file)
        .map(({ payload }) => decodeDhcp(payload))
        .filter(({ op }) => op === 'reply');
      expect(replies.length).toBeGreaterThanOrEqual(2);
      expect(replies.filter(({ yiaddr }) => !yiaddr.startsWith(own))).toEqual([]);
    }
  });
});

describe('behind a relay', () => {
  const behind = { ...NETWORK, name: 'behind', prefix: '10.99.0.0/24', from: '10.99.0.100', to: '10.99.0.110' };
  beforeEach(() => {
    const { namespaces } = lab;
    namespaces.add('server', 'relay', 'client');
    namespaces.connect(
      { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
      { namespace: 'relay', device: 'r1', address: '10.88.0.2/24' },
    );
    namespaces.connect(
      { namespace: 'relay', device: 'r2', address: '10.99.0.1/24' },
      { namespace: 'client', device: 'c1' },
    );
    namespaces.ip('server', 'route', 'add', '10.99.0.0/24', 'via', '10.88.0.2');
  });

  it('of ISC the client gets an address of its own network', async () => {
    await lab.serve([NETWORK, behind], '--ignore-others');
    const relay = lab.namespaces.start('relay', 'dhcrelay', '-4', '-d', '-a', '-id', 'r2', '-iu', 'r1', '10.88.0.1');
    await relay.says(/Sending on/);
    expect(await lab.dhclient('client', 'c1')).toBe('10.99.0.100');
    const ack = (await lab.notes()).find(({ kind }) => kind === 'dhcp.ack');
    expect(ack?.data).toMatchObject({ network: 'behind', address: '10.99.0.100' });
  });

  it('that loses, doubles and reorders packets, dhclient gets through, time and again', async () => {
    await lab.serve([NETWORK, behind], '--ignore-others');
    const line = await lab.badLine('relay', 'r2', '10.99.0.1', 'r1', '10.88.0.1');
    for (let time = 0; time < 5 || !line.output.includes('lost 3'); time++) {
      expect(await lab.dhclient('client', 'c1')).toBe('10.99.0.100');
    }
    expect(await lab.leases()).toMatchObject([{ address: '10.99.0.100', state: 'bound' }]);
  });
});
