import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { ip, mac } from '../../boot/leases/lease-fixtures.ts';
import { readPcap } from '../../captures/read-pcap.ts';
import { addressOf, optionOf, type RawPacket, readRaw, textOf } from '../../servers/dhcp/raw-packet.ts';
import { FIRMWARE, HTTP_FIRMWARE, IPXE, packet } from '../../servers/dhcp/rig.ts';
import { needPackages } from '../packages.ts';
import { Lab, NETWORK, SECOND } from './lab.ts';

let lab: Lab;
beforeAll(() => needPackages(['isc-dhcp-client', 'isc-dhcp-relay', 'udhcpc', 'tcpdump', 'iproute2', 'procps']));
beforeEach(() => {
  lab = new Lab();
});
afterEach(async () => await lab.remove());

/** Server and one client, connected by a cable. */
function byCable(): void {
  const { namespaces } = lab;
  namespaces.add('server', 'client');
  namespaces.connect(
    { namespace: 'server', device: 's1', address: '10.88.0.1/24' },
    { namespace: 'client', device: 'c1' },
  );
}

const bytesOf = (message: DhcpMessage): Uint8Array => encodeDhcp(message, { maxBytes: 1472 }).bytes;

describe('real clients', () => {
  it('give dhclient and udhcpc an address each, stored on disk, and the same again', async () => {
    byCable();
    await lab.serve([NETWORK]);
    const address = await lab.dhclient('client', 'c1');
    expect(address).toBe('10.88.0.100');
    expect(await lab.leases()).toMatchObject([{ address, network: 'first', state: 'bound' }]);
    const udhcpc = await lab.namespaces.run('client', 'udhcpc', '-i', 'c1', '-f', '-q', '-n', '-s', '/bin/true');
    expect(udhcpc.output).toContain(`lease of ${address} obtained`);
    expect(udhcpc.status).toBe(0);
  });

  it('that read raw frames, twenty at once, get an address each', async () => {
    byCable();
    await lab.serve([NETWORK], '--no-probe', '--ignore-others');
    const cards = Array.from({ length: 20 }, (_, n) => `m${n}`);
    for (const card of cards) {
      lab.namespaces.ip('client', 'link', 'add', 'link', 'c1', 'name', card, 'type', 'macvlan', 'mode', 'bridge');
      lab.namespaces.ip('client', 'link', 'set', card, 'up');
    }
    // One DISCOVER each: a lost one is not retransmitted.
    const once = 'udhcpc -f -q -n -t 1 -T 30 -s /bin/true';
    const together = `for card in ${cards.join(' ')}; do ${once} -i $card & done; wait`;
    const { output } = await lab.namespaces.run('client', 'sh', '-c', together);
    const obtained = [...output.matchAll(/lease of (\S+) obtained/g)].map(([, address]) => address);
    expect(new Set(obtained).size).toBe(cards.length);
  });

  it('that read raw frames get each reply in a separate frame, however many are sent at once', async () => {
    byCable();
    const { file } = await lab.capture('client', 'c1', 'udp src port 67');
    await lab.serve([NETWORK], '--no-probe', '--ignore-others');
    const wire = await lab.wire('client', 'c1');
    const clients = Array.from({ length: 20 }, (_, n) => bytesOf(packet('discover', mac(n + 1), { xid: n + 1 })));
    await Promise.all(clients.map((bytes) => wire.ask(bytes)));
    const lengths = wire.heard.map(({ bytes }) => bytes.length);
    const onTheWire = (): number[] => readPcap(file).map(({ payload }) => payload.length);
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
    await expect.poll(() => sum(onTheWire())).toBeGreaterThanOrEqual(sum(lengths));
    expect(new Set(onTheWire())).toEqual(new Set(lengths));
  });

  it('do not get an address that another host uses', async () => {
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

  it('that name neither server nor address are ignored, and the server continues', async () => {
    byCable();
    await lab.serve([NETWORK], '--no-probe');
    const mac = '02:00:00:00:00:77';
    const sloppy = lab.client('client', 'once', 'c1', JSON.stringify({ type: 'request', mac }));
    await sloppy.says(/sent/);
    // A later request is answered, so this one was processed before.
    await sloppy.stop();
    const proper = lab.client('client', 'once', 'c1', JSON.stringify({ type: 'discover', mac }));
    await proper.says(/"type":"offer"/);
    expect(sloppy.output).not.toContain('"type"');
    const events = (await lab.notes()).map(({ kind, data }) =>
      `${kind} ${(data as { because?: string }).because ?? ''}`.trim(),
    );
    expect(events).toEqual(['dhcp.request', 'dhcp.silent malformed', 'dhcp.discover', 'dhcp.offer pool']);
  });
});

describe('two interfaces with a network each', () => {
  const LEFT = { network: NETWORK, namespace: 'left', device: 'c1', own: '10.88.0.', clients: 0x100 };
  const RIGHT = { network: SECOND, namespace: 'right', device: 'c2', own: '10.89.0.', clients: 0x200 };
  type Side = typeof LEFT;
  beforeEach(() => {
    lab.namespaces.add('server', 'left', 'right');
    for (const { network, namespace, device } of [LEFT, RIGHT]) {
      const served = { namespace: 'server', device: network.device, address: `${network.server}/24` };
      lab.namespaces.connect(served, { namespace, device });
    }
  });

  /** The same number of each kind: PXE firmware, HTTP firmware, and iPXE. */
  const KINDS = [FIRMWARE, HTTP_FIRMWARE, IPXE];
  const bootStorm = ({ clients }: Side): Uint8Array[] =>
    Array.from({ length: 51 }, (_, n) =>
      bytesOf(packet('discover', mac(clients + n), { xid: clients + n, options: KINDS[n % KINDS.length] ?? [] })),
    );
  const filesOf = ({ network: { server } }: Side): string[] => [
    `http://${server}:8080/boot/ipxe/boot.ipxe`,
    `http://${server}:8080/boot/loader/ipxe.efi`,
    'ipxe.efi',
  ];
  const all = <T>(values: Iterable<T>): T[] => [...new Set(values)].sort();

  it('never get replies or values of the other network', async () => {
    const captures = [];
    for (const { namespace, device } of [LEFT, RIGHT]) {
      captures.push(await lab.capture(namespace, device, 'udp and (port 67 or port 68)'));
    }
    await lab.serve([NETWORK, SECOND], '--no-probe');
    const addresses = await Promise.all([lab.dhclient('left', 'c1'), lab.dhclient('right', 'c2')]);
    expect(addresses).toEqual(['10.88.0.100', '10.89.0.100']);
    const wires = [await lab.wire('left', 'c1'), await lab.wire('right', 'c2')];
    const answers = await Promise.all(
      [LEFT, RIGHT].map((side, at) => Promise.all(bootStorm(side).map((bytes) => wires[at]?.ask(bytes)))),
    );

    const xids: number[][] = [];
    for (const [at, side] of [LEFT, RIGHT].entries()) {
      const { server } = side.network;
      const received = answers[at]?.flatMap((answer) => answer ?? []) ?? [];
      expect(received).toHaveLength(51);
      expect(all(received.map(({ from }) => `${from.address}:${from.port}`))).toEqual([`${server}:67`]);
      expect(all(received.map(({ packet: { siaddr } }) => siaddr))).toEqual([server]);
      expect(all(received.map((answer) => textOf(answer.packet, 66)))).toEqual([server]);
      expect(all(received.map(({ packet: { file } }) => file))).toEqual(filesOf(side));
      expect(all(received.map(({ packet: { yiaddr } }) => yiaddr))).toHaveLength(51);

      // The same for everything on the wire, including dhclient's.
      const { file, tcpdump } = captures[at] ?? expect.unreachable('two were begun');
      const replies = (): RawPacket[] =>
        readPcap(file).flatMap(({ payload }) => (payload[0] === 2 ? readRaw(payload) : []));
      await expect.poll(() => replies().length).toBeGreaterThanOrEqual(51 + 2);
      await tcpdump.stop();
      expect(all(replies().map((reply) => addressOf(reply, 54)))).toEqual([server]);
      expect(replies().filter(({ yiaddr }) => !yiaddr.startsWith(side.own))).toEqual([]);
      xids.push(replies().map(({ xid }) => xid));
    }
    expect(xids[0]?.filter((xid) => xids[1]?.includes(xid))).toEqual([]);
  });

  it('reject the old address of a client that moved from one to the other', async () => {
    await lab.serve([NETWORK, SECOND], '--no-probe', '--ignore-others');
    const left = await lab.wire('left', 'c1');
    const offer = await left.ask(bytesOf(packet('discover', mac(1))));
    const requested = offer.packet.yiaddr as Ipv4;
    const ack = await left.ask(bytesOf(packet('request', mac(1), { requested, server: ip(NETWORK.server) })));
    expect(ack.packet.yiaddr).toBe('10.88.0.100');
    const right = await lab.wire('right', 'c2');
    const { packet: answer, from } = await right.ask(bytesOf(packet('request', mac(1), { requested })));
    expect(optionOf(answer, 53)).toEqual(Buffer.of(6));
    expect([from.address, addressOf(answer, 54), answer.yiaddr]).toEqual(['10.89.0.1', '10.89.0.1', '0.0.0.0']);
    expect(await lab.leases()).toMatchObject([{ address: requested, mac: mac(1), network: 'first', state: 'bound' }]);
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

  async function serveThroughRelay(): Promise<void> {
    await lab.serve([NETWORK, behind], '--ignore-others');
    const relay = lab.namespaces.start('relay', 'dhcrelay', '-4', '-d', '-a', '-id', 'r2', '-iu', 'r1', '10.88.0.1');
    await relay.says(/Sending on/);
  }

  it('of ISC, gives the client an address of its own network', async () => {
    await serveThroughRelay();
    expect(await lab.dhclient('client', 'c1')).toBe('10.99.0.100');
    const ack = (await lab.notes()).find(({ kind }) => kind === 'dhcp.ack');
    expect(ack?.data).toMatchObject({ network: 'behind', address: '10.99.0.100' });
  });

  it('does not offer an address that another host uses', async () => {
    const { namespaces } = lab;
    namespaces.add('stranger');
    namespaces.connect(
      { namespace: 'relay', device: 'r3', address: '10.99.0.2/24' },
      { namespace: 'stranger', device: 'x1', address: '10.99.0.100/24' },
    );
    namespaces.ip('relay', 'route', 'add', '10.99.0.100/32', 'dev', 'r3');
    namespaces.ip('stranger', 'route', 'add', 'default', 'via', '10.99.0.2');
    const forwards = await namespaces.run('relay', 'sysctl', '-w', 'net.ipv4.ip_forward=1');
    expect(forwards.status).toBe(0);
    await serveThroughRelay();
    expect(await lab.dhclient('client', 'c1')).toBe('10.99.0.101');
    const conflict = (await lab.notes()).find(({ kind }) => kind === 'dhcp.conflict');
    expect(conflict?.data).toMatchObject({ network: 'behind', address: '10.99.0.100' });
  });
});
