// An offered address is reserved: machines that all start at once share a pool that has exactly one address for each.

import { expect, it } from 'vitest';
import { type DhcpMessageType, messageType } from '../../../appliance/codecs/dhcp4/options.ts';
import { SECOND } from '../../../appliance/domain/instant.ts';
import { type Ipv4, ipv4FromNumber, ipv4ToNumber } from '../../../appliance/domain/ipv4.ts';
import { type Mac, macFromBytes } from '../../../appliance/domain/mac.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { networkWith, SERVER } from '../../boot/boot-fixtures.ts';
import { ip, mac } from '../../boot/leases/lease-fixtures.ts';
import { FIRMWARE, packet, Rig } from './rig.ts';

const CLIENTS = Array.from({ length: 1000 }, (_, n) => mac(n + 1));
const FROM = ip('10.0.101.0');
const ADDRESSES = CLIENTS.map((_, n) => ipv4FromNumber(ipv4ToNumber(FROM) + n));
const NETWORK = networkWith({
  prefix: { network: ip('10.0.96.0'), length: 20 },
  pools: [{ from: FROM, to: ADDRESSES.at(-1) ?? FROM }],
  unknown: 'inspect',
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The addresses assigned by replies of this type, by client. */
const assigned = (rig: Rig, type: DhcpMessageType): (readonly [Mac, Ipv4])[] =>
  rig.udp.replies
    .filter(({ message }) => messageType(message) === type)
    .map(({ message }) => [mustParse(macFromBytes(message.chaddr.subarray(0, 6))), message.yiaddr]);

it('offers a thousand clients the thousand addresses of a pool, the next client none, and gives each its own', async () => {
  const rig = new Rig({ networks: [NETWORK], machines: [], settings: { conflictProbe: true } });
  await rig.server.start();
  const late = mac(CLIENTS.length + 1);
  const asksFor = (requested: Ipv4) => ({ requested, server: SERVER.address, options: FIRMWARE });

  for (const client of CLIENTS) rig.receives(packet('discover', client, { options: FIRMWARE }));
  rig.receives(packet('discover', late, { options: FIRMWARE }));
  expect(rig.story.at(-1)).toBe('dhcp.silent pool-exhausted');
  await rig.clock.advance(SECOND, turn);
  const offers = new Map(assigned(rig, 'offer'));
  expect([...offers.keys()].sort()).toEqual(CLIENTS);
  expect([...offers.values()].sort()).toEqual(ADDRESSES.toSorted());

  const stolen = offers.get(mac(500)) ?? FROM;
  rig.receives(packet('request', late, asksFor(stolen)));
  expect(rig.udp.sentInWords.at(-1)).toMatch(/^nak/);

  // Not in the order in which they were offered.
  const sent = rig.udp.sent.length;
  for (const [client, address] of [...offers].reverse()) rig.receives(packet('request', client, asksFor(address)));
  await rig.udp.until(sent + CLIENTS.length);
  const acknowledged = assigned(rig, 'ack');
  expect(acknowledged).toHaveLength(CLIENTS.length);
  expect(new Map(acknowledged)).toEqual(offers);
  const leases = rig.store.commits.flat();
  expect(leases.map(({ state }) => state)).toEqual(CLIENTS.map(() => 'bound'));
  expect(new Map(leases.map(({ mac: client, address }) => [client, address]))).toEqual(offers);

  // It asks again, but now each offer was requested.
  await rig.clock.advance(SECOND, turn);
  rig.receives(packet('discover', late, { options: FIRMWARE }));
  expect(rig.story.at(-1)).toBe('dhcp.silent pool-exhausted');
  await rig.server.stop();
});
