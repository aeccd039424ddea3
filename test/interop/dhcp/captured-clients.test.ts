// Replays the requests of every captured client, firmware, iPXE and installer, over a real wire. The required content of each
// reply is checked in its bytes, and by tcpdump.

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { type Datagram, readPcap } from '../../captures/read-pcap.ts';
import { dhcpCaptures } from '../../codecs/dhcp4/captured-packets.ts';
import {
  addressOf,
  askingFor,
  optionOf,
  type RawPacket,
  readRaw,
  relayed,
  textOf,
} from '../../servers/dhcp/raw-packet.ts';
import type { Answer } from '../../servers/dhcp/wire.ts';
import { needPackages } from '../packages.ts';
import { type Capture, Lab, type LabNetwork } from './lab.ts';

/** As in the captures, so that the server identifiers in the requests are right. */
const DIRECT: LabNetwork = {
  name: 'direct',
  prefix: '10.77.0.0/16',
  server: '10.77.0.1',
  device: 's1',
  from: '10.77.2.0',
  to: '10.77.2.255',
};
/** With so many options that they do not fit beside the relay's option into the smallest message. */
const TALKATIVE: LabNetwork = {
  ...DIRECT,
  more: `gateway: 10.77.0.3, dns: [10.77.0.4, 10.77.0.5], domain: ${'a-long-name.'.repeat(6)}example.com`,
};
const BEHIND_RELAY: LabNetwork = {
  name: 'behind-relay',
  prefix: '10.88.0.0/16',
  server: '10.88.0.1',
  device: 's2',
  from: '10.88.16.0',
  to: '10.88.16.255',
};
/** The client that sends a request to a boot server already has an address. */
const CLIENT = '10.77.0.50';
const RELAY = '10.77.0.2';
/** RFC 3046 §2.0: circuit and remote identifier of maximum length. */
const RELAY_OPTION = Buffer.concat([Buffer.of(1, 4), Buffer.from('eth7'), Buffer.of(2, 247), Buffer.alloc(247, 'x')]);
const BROADCAST_FLAG = 0x8000;
const CLASSES = ['PXEClient', 'HTTPClient'];
const BOOT_URL = 'http://SERVER:8080/boot';
const LOADERS: Readonly<Record<number, string>> = {
  0: 'undionly.kpxe',
  7: 'ipxe.efi',
  11: 'arm64-efi/snponly.efi',
  16: `${BOOT_URL}/loader/ipxe.efi`,
  19: `${BOOT_URL}/loader/arm64-efi/snponly.efi`,
};

let lab: Lab;
beforeAll(() => needPackages(['tcpdump', 'iproute2']));
beforeEach(() => {
  lab = new Lab();
  const { namespaces } = lab;
  namespaces.add('server', 'client');
  namespaces.connect(
    { namespace: 'server', device: 's1', address: '10.77.0.1/16' },
    { namespace: 'client', device: 'c1', address: `${CLIENT}/16` },
  );
  namespaces.ip('client', 'address', 'add', `${RELAY}/16`, 'dev', 'c1');
  namespaces.connect(
    { namespace: 'server', device: 's2', address: '10.88.0.1/16' },
    { namespace: 'client', device: 'c2', address: '10.88.0.2/16' },
  );
});
afterEach(async () => await lab.remove());

const isIpxe = (request: RawPacket): boolean => optionOf(request, 175) !== undefined || textOf(request, 77) === 'iPXE';
const architectureOf = (request: RawPacket): number | undefined => optionOf(request, 93)?.readUInt16BE(0);

function expectedFile(request: RawPacket, server: string): string {
  const architecture = architectureOf(request);
  if (architecture === undefined) return '';
  const file = isIpxe(request) ? `${BOOT_URL}/ipxe/boot.ipxe` : (LOADERS[architecture] ?? 'a loader for it');
  return file.replace('SERVER', server);
}

/** iPXE with a lease accepts replies without a class; other clients need their own. Port 4011 is for PXE clients only. */
function expectedClass(request: RawPacket): string | undefined {
  if (architectureOf(request) === undefined || isIpxe(request)) return undefined;
  // perfdhcp sends its architecture and no class.
  const own = textOf(request, 60) ?? 'PXEClient';
  return CLASSES.find((name) => own.startsWith(name));
}

/** RFC 2132 §9.10 counts the IP and UDP headers; no Ethernet frame holds more than 1472 bytes beside them. */
const maxLength = (request: RawPacket): number =>
  Math.min(Math.max(optionOf(request, 57)?.readUInt16BE(0) ?? 0, 576) - 28, 1472);

function expectUsable(request: RawPacket, { packet, from }: Answer, server: string): void {
  const boots = architectureOf(request) !== undefined;
  const who = `${request.mac} ${request.xid.toString(16)} ${textOf(request, 60)}`;
  const shown = {
    op: packet.op,
    xid: packet.xid,
    mac: packet.mac,
    giaddr: packet.giaddr,
    flags: packet.flags,
    from: from.address,
    server: addressOf(packet, 54),
    siaddr: packet.siaddr,
    uuid: optionOf(packet, 97)?.toString('hex'),
    file: packet.file,
    option67: textOf(packet, 67) ?? '',
    vendorClass: textOf(packet, 60),
  };
  expect(shown, who).toEqual({
    op: 2,
    xid: request.xid,
    mac: request.mac,
    giaddr: request.giaddr,
    flags: request.flags & BROADCAST_FLAG,
    from: server,
    server,
    siaddr: boots ? server : '0.0.0.0',
    uuid: optionOf(request, 97)?.toString('hex'),
    file: expectedFile(request, server),
    option67: expectedFile(request, server),
    vendorClass: expectedClass(request),
  });
  expect(packet.length, who).toBeGreaterThanOrEqual(300);
  expect(packet.length, who).toBeLessThanOrEqual(maxLength(request));
}

const REQUESTS = dhcpCaptures().flatMap(({ packets }) => packets.filter(([op]) => op === 1));
const isDiscover = (request: RawPacket): boolean => optionOf(request, 53)?.[0] === 1;
const asksBootServer = (request: RawPacket): boolean => request.ciaddr !== '0.0.0.0';
const cameFromRelay = (request: RawPacket): boolean => request.giaddr !== '0.0.0.0';

interface Exchange {
  readonly request: RawPacket;
  readonly answer: Answer;
}

/** One after the other, in capture order. Each client requests the address that it was offered, and must get it. */
async function replay(
  packets: readonly Uint8Array[],
  ask: (bytes: Uint8Array, request: RawPacket) => Promise<Answer>,
): Promise<Exchange[]> {
  const offered = new Map<string, string>();
  const exchanges: Exchange[] = [];
  for (const captured of packets) {
    const { mac } = readRaw(captured);
    const bytes = askingFor(captured, offered.get(mac) ?? '0.0.0.0');
    const request = readRaw(bytes);
    const answer = await ask(bytes, request);
    const { yiaddr } = answer.packet;
    if (isDiscover(request)) offered.set(mac, yiaddr);
    expect(yiaddr).toBe(asksBootServer(request) ? '0.0.0.0' : offered.get(mac));
    exchanges.push({ request, answer });
  }
  return exchanges;
}

/** Every received packet is in the file, and tcpdump can decode it. It recognises DHCP by port 67, and not on 4011. */
async function expectReadable({ file, tcpdump }: Capture, answers: readonly Answer[]): Promise<void> {
  const replies = (): Datagram[] => readPcap(file).filter(({ payload }) => payload[0] === 2);
  await expect.poll(() => replies().length).toBeGreaterThanOrEqual(answers.length);
  await tcpdump.stop();
  const filter = ['udp', 'src', 'port', '67', 'and', 'src', 'host', answers[0]?.from.address ?? ''];
  const { output, status } = await lab.namespaces.run('client', 'tcpdump', '-vvv', '-n', '-r', file, ...filter);
  expect(status).toBe(0);
  const count = replies().filter(({ sourcePort }) => sourcePort === 67).length;
  expect(output.match(/BOOTP\/DHCP, Reply/g)).toHaveLength(count);
  expect(output.match(/END \(255\)/g)).toHaveLength(count);
  expect(output).not.toMatch(/malformed|truncated|invalid|trailing data|\[\|/i);
}

describe('every captured client', () => {
  it('gets a usable reply', async () => {
    const firmware = await lab.wire('client', 'c1');
    const bootClient = await lab.wire('client', 'c1', 4011);
    const relay = await lab.wire('client', 'c2', 67);
    const direct = await lab.capture('client', 'c1', 'udp');
    const behindRelay = await lab.capture('client', 'c2', 'udp');
    await lab.serve([DIRECT, BEHIND_RELAY], '--no-probe', '--ignore-others');
    const exchanges = await replay(REQUESTS, (bytes, request) => {
      if (cameFromRelay(request)) return relay.ask(bytes, { address: BEHIND_RELAY.server as Ipv4, port: 67 });
      if (asksBootServer(request)) return bootClient.ask(bytes, { address: DIRECT.server as Ipv4, port: 4011 });
      return firmware.ask(bytes);
    });
    for (const { request, answer } of exchanges) {
      expectUsable(request, answer, cameFromRelay(request) ? BEHIND_RELAY.server : DIRECT.server);
    }
    // Otherwise not every kind of client was captured.
    expect(
      new Set(exchanges.map(({ request }) => `${architectureOf(request) ?? 'os'}${isIpxe(request) ? ' ipxe' : ''}`)),
    ).toEqual(new Set(['0', '7', '11', '16', '19', '0 ipxe', '7 ipxe', 'os']));
    // Received twice if it was late: the request was retransmitted then.
    const bootServers = new Set(bootClient.heard.map(({ from }) => `${from.address}:${from.port}`));
    expect(bootServers).toEqual(new Set([`${DIRECT.server}:4011`]));
    await expectReadable(direct, [...firmware.heard, ...bootClient.heard]);
    await expectReadable(behindRelay, relay.heard);
  });

  it('gets it through a relay, whose own option comes back last and unchanged', async () => {
    const relay = await lab.wire('client', 'c1', 67);
    const capture = await lab.capture('client', 'c1', 'udp');
    await lab.serve([TALKATIVE], '--no-probe', '--ignore-others');
    const direct = REQUESTS.filter((bytes) => !cameFromRelay(readRaw(bytes)) && !asksBootServer(readRaw(bytes)));
    const exchanges = await replay(
      direct.map((bytes) => relayed(bytes, RELAY, RELAY_OPTION)),
      (bytes) => relay.ask(bytes, { address: DIRECT.server as Ipv4, port: 67 }),
    );
    for (const { request, answer } of exchanges) {
      expectUsable(request, answer, DIRECT.server);
      expect(answer.packet.options.at(-1)).toEqual([82, RELAY_OPTION]);
    }
    // Something was omitted for clients with a small maximum, and nothing for the others.
    const domain = (limit: number) =>
      new Set(
        exchanges
          .filter(({ request }) => maxLength(request) === limit)
          .map(({ answer }) => optionOf(answer.packet, 15) !== undefined),
      );
    expect([domain(548), domain(1472)]).toEqual([new Set([false]), new Set([true])]);
    await expectReadable(capture, relay.heard);
  });
});
