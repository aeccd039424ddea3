// Mutated captured requests through the whole server: nothing throws, and a packet that is not a request changes nothing.

import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { messageType } from '../../../appliance/codecs/dhcp4/options.ts';
import { SECOND } from '../../../appliance/domain/instant.ts';
import { parseMac } from '../../../appliance/domain/mac.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { INPUTS } from '../../attack-tally.ts';
import { machineIn, name, networkWith } from '../../boot/boot-fixtures.ts';
import { ip, mac } from '../../boot/leases/lease-fixtures.ts';
import { dhcpPackets } from '../../codecs/dhcp4/captured-packets.ts';
import { dice } from '../../codecs/dhcp4/mutants.ts';
import { packet, Rig } from './rig.ts';

const MUTANTS = INPUTS.dhcpServer;
const SEED = 0x2131;

/** The networks in which the clients were captured, and one on which another server assigns the addresses. */
const DIRECT = networkWith({
  name: name('direct'),
  interface: 'eth1',
  prefix: { network: ip('10.77.0.0'), length: 16 },
  server: ip('10.77.0.1'),
  pools: [{ from: ip('10.77.0.20'), to: ip('10.77.255.250') }],
  unknown: 'inspect',
});
const RELAYED = networkWith({
  name: name('relayed'),
  interface: 'eth2',
  prefix: { network: ip('10.88.0.0'), length: 16 },
  server: ip('10.88.0.1'),
  pools: [{ from: ip('10.88.16.0'), to: ip('10.88.255.250') }],
  unknown: 'inspect',
});
const PROXIED = networkWith({
  name: name('proxied'),
  interface: 'eth3',
  prefix: { network: ip('10.66.0.0'), length: 16 },
  server: ip('10.66.0.1'),
  dhcp: 'proxy',
  unknown: 'inspect',
});
/** One of the captured machines is declared. */
const DECLARED = machineIn('ready', {
  spec: {
    interfaces: [
      {
        name: 'eth0',
        mac: mustParse(parseMac('52:54:00:77:00:02')),
        network: DIRECT.name,
        address: ip('10.77.2.4'),
        mtu: null,
      },
    ],
  },
});
/** Mostly the interfaces of the captured clients. */
const PLACES = ['eth1:67', 'eth1:67', 'eth1:67', 'eth2:67', 'eth1:4011', 'eth3:67', 'eth3:4011'];
const FROM = { address: ip('10.77.0.50'), port: 68 };

const TYPES = [1, 2, 3, 4, 5, 6, 7, 8].map((type) => Buffer.from([53, 1, type]));
/** RFC 2132: requested address, lease time, server identifier; RFC 3011: subnet. Four bytes each. */
const OF_FOUR_BYTES = [50, 51, 54, 118];

/** By RFC 2131 §2 alone: not a request of an Ethernet client, or one without a message type. */
function isNoRequest(bytes: Uint8Array): boolean {
  const raw = Buffer.from(bytes);
  if (raw.length < 240 || raw.readUInt32BE(236) !== 0x63825363) return true;
  if (raw[0] !== 1 || raw[1] !== 1 || raw[2] !== 6) return true;
  // Overloaded options may be in sname and file.
  return !TYPES.some((option) => raw.includes(option, 44)) || namesHalfAnAddress(raw);
}

/** The options can be parsed from first to last, and none of them is split or overloaded. */
function namesHalfAnAddress(raw: Buffer): boolean {
  const lengths = new Map<number, number>();
  for (let at = 240; raw[at] !== 255; at += raw[at] === 0 ? 1 : 2 + (raw[at + 1] ?? 0)) {
    const code = raw[at];
    if (code === undefined || code === 52 || lengths.has(code)) return false;
    if (code !== 0) lengths.set(code, raw[at + 1] ?? 0);
  }
  return OF_FOUR_BYTES.some((code) => (lengths.get(code) ?? 4) !== 4);
}

const saysMalformed = ({ kind, data }: TrailNote): boolean =>
  kind === 'dhcp.silent' && (data as { because?: string }).because === 'malformed';

it('answers a valid request after twenty thousand mutated ones, none of which it handled wrongly', async ({ task }) => {
  const below = dice(SEED);
  const originals = dhcpPackets().filter(([op]) => op === 1);
  const mutant = (): Uint8Array => {
    const original = originals[below(originals.length)] ?? new Uint8Array();
    const bytes = original.slice(0, original.length - (below(16) === 0 ? below(original.length) : 0));
    // Mostly among the options, where the structure is; sometimes anywhere.
    for (let changes = 1 + below(6); changes > 0; changes--) {
      bytes[below(3) === 0 ? below(bytes.length) : 240 + below(Math.max(1, bytes.length - 240))] = below(256);
    }
    return bytes;
  };
  const rig = new Rig({ networks: [DIRECT, RELAYED, PROXIED], machines: [DECLARED] });
  await rig.server.start();

  const answeredInError: string[] = [];
  let noRequests = 0;
  for (let n = 0; n < MUTANTS; n++) {
    const bytes = mutant();
    const before = { notes: rig.notes.length, sent: rig.udp.sent.length, commits: rig.store.commits.length };
    rig.udp.deliver(PLACES[below(PLACES.length)] ?? '', bytes, FROM);
    // A lease is committed in the next turn, and acknowledged in the same turn.
    await setImmediate();
    const noRequest = isNoRequest(bytes);
    if (noRequest) noRequests++;
    const changed = rig.udp.sent.length > before.sent || rig.store.commits.length > before.commits;
    if (changed && (noRequest || rig.notes.slice(before.notes).some(saysMalformed))) {
      answeredInError.push(Buffer.from(bytes).toString('hex'));
    }
    // Offers and leases expire in between.
    if (n % 100 === 0) await rig.clock.advance(10 * SECOND, () => setImmediate());
  }

  task.meta.inputs = MUTANTS;
  expect(answeredInError).toEqual([]);
  expect(rig.lines.filter(({ level }) => level === 'error')).toEqual([]);
  const { replies } = rig.udp;
  expect(replies.filter(({ sent: { bytes } }) => bytes.length < 300 || bytes.length > 1472)).toEqual([]);
  // Otherwise the mutants were rejected too early, or were hardly mutated.
  const countOf = (type: string): number => replies.filter(({ message }) => messageType(message) === type).length;
  expect(noRequests).toBeGreaterThan(MUTANTS / 20);
  expect(rig.notes.filter(saysMalformed).length).toBeGreaterThan(MUTANTS / 20);
  expect(countOf('offer')).toBeGreaterThan(MUTANTS / 10);
  expect(countOf('ack')).toBeGreaterThan(MUTANTS / 10);
  expect(countOf('nak')).toBeGreaterThan(MUTANTS / 100);

  rig.receives(packet('discover', mac(1)));
  expect(rig.udp.sentInWords.at(-1)).toMatch(/^offer 10\.77\.\d+\.\d+ to 255\.255\.255\.255:68 by eth1:67$/);
  await rig.server.stop();
});
