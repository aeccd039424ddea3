// A pool with exactly one address per client; all clients send a DISCOVER before any of them requests its offer.

import { afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { type Ipv4, ipv4FromNumber, ipv4ToNumber } from '../../../appliance/domain/ipv4.ts';
import type { Mac } from '../../../appliance/domain/mac.ts';
import { ip, mac } from '../../boot/leases/lease-fixtures.ts';
import { optionOf } from '../../servers/dhcp/raw-packet.ts';
import { FIRMWARE, packet } from '../../servers/dhcp/rig.ts';
import { needPackages } from '../packages.ts';
import { Lab } from './lab.ts';

const SERVER = ip('10.88.0.1');
const FROM = ip('10.88.1.0');
/** RFC 2132 §9.6. */
const ACK = 5;
const CLIENTS = Array.from({ length: 1000 }, (_, n) => mac(n + 1));
const ADDRESSES = CLIENTS.map((_, n) => ipv4FromNumber(ipv4ToNumber(FROM) + n));

let lab: Lab;
beforeAll(() => needPackages(['iproute2']));
beforeEach(() => {
  lab = new Lab();
  lab.namespaces.add('server', 'client');
  lab.namespaces.connect(
    { namespace: 'server', device: 's1', address: `${SERVER}/16` },
    { namespace: 'client', device: 'c1' },
  );
});
afterEach(async () => await lab.remove());

const bytesOf = (message: DhcpMessage): Uint8Array => encodeDhcp(message, { maxBytes: 1472 }).bytes;
const discover = (client: Mac, xid: number): Uint8Array =>
  bytesOf(packet('discover', client, { xid, options: FIRMWARE }));
const select = (client: Mac, xid: number, requested: Ipv4): Uint8Array =>
  bytesOf(packet('request', client, { xid, requested, server: SERVER, options: FIRMWARE }));

it('gives a thousand clients one address each over a real wire, ignores the next one, and stores the acknowledged leases on disk', async () => {
  const to = ADDRESSES.at(-1) ?? FROM;
  const network = { name: 'full', prefix: '10.88.0.0/16', server: SERVER, device: 's1', from: FROM, to };
  await lab.serve([network], '--no-probe', '--ignore-others');
  const wire = await lab.wire('client', 'c1');
  const offers = await Promise.all(CLIENTS.map((client, n) => wire.ask(discover(client, n))));
  const offered = offers.map(({ packet: { yiaddr } }) => yiaddr as Ipv4);
  expect(offered.toSorted()).toEqual(ADDRESSES.toSorted());

  const answers = await Promise.all(CLIENTS.map((client, n) => wire.ask(select(client, n, offered[n] ?? FROM))));
  expect(answers.map(({ packet: { yiaddr } }) => yiaddr)).toEqual(offered);
  expect(new Set(answers.map((answer) => optionOf(answer.packet, 53)?.[0]))).toEqual(new Set([ACK]));
  const late = mac(CLIENTS.length + 1);
  wire.tell(discover(late, CLIENTS.length));
  // A later client is answered, so this one was processed before.
  const again = await wire.ask(discover(mac(1), 0));
  expect(again.packet.yiaddr).toBe(offered[0]);
  expect(wire.heard.filter(({ packet: { mac: client } }) => client === late)).toEqual([]);

  const leases = new Map((await lab.leases()).map(({ mac: client, address }) => [client, address]));
  expect(leases).toEqual(new Map(CLIENTS.map((client, n) => [client, offered[n]])));
  const refused = (await lab.notes()).filter(({ data }) => (data as { because?: string }).because === 'pool-exhausted');
  expect(refused.map(({ mac: client }) => client)).toEqual([late]);
});
