// Sample messages: a plain one, an arbitrary one, and raw packets built byte by byte.

import fc from 'fast-check';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { type Ipv4, ipv4FromNumber } from '../../../appliance/domain/ipv4.ts';

const NOWHERE = '0.0.0.0' as Ipv4;

export const plainMessage: DhcpMessage = {
  op: 'reply',
  htype: 1,
  hlen: 6,
  hops: 0,
  xid: 0x48f5781b,
  secs: 0,
  broadcast: true,
  ciaddr: NOWHERE,
  yiaddr: '10.0.100.50' as Ipv4,
  siaddr: '10.0.100.1' as Ipv4,
  giaddr: NOWHERE,
  chaddr: Uint8Array.of(0x52, 0x54, 0, 0x12, 0x34, 0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
  sname: '',
  file: 'ipxe.efi',
  options: new Map(),
};

export const withOptions = (options: readonly (readonly [number, Uint8Array])[]): DhcpMessage => ({
  ...plainMessage,
  options: new Map(options),
});

const address = fc.oneof(fc.constant(NOWHERE), fc.nat({ max: 0xffffffff }).map(ipv4FromNumber));
const bytes = (minLength: number, maxLength: number) =>
  fc.uint8Array({ minLength, maxLength }).map((array) => new Uint8Array(array));
const headerText = (maxLength: number) =>
  fc
    .array(fc.integer({ min: 1, max: 255 }), { maxLength })
    .map((codes) => codes.map((code) => String.fromCharCode(code)).join(''));
const optionCode = fc.integer({ min: 1, max: 254 }).filter((code) => code !== 52);
const optionValue = fc.oneof({ weight: 9, arbitrary: bytes(0, 60) }, { weight: 1, arbitrary: bytes(200, 900) });

/** Any message that can be encoded, including long and empty option values. */
export const anyMessage: fc.Arbitrary<DhcpMessage> = fc.record({
  op: fc.constantFrom('request' as const, 'reply' as const),
  htype: fc.nat({ max: 255 }),
  hlen: fc.nat({ max: 16 }),
  hops: fc.nat({ max: 16 }),
  xid: fc.nat({ max: 0xffffffff }),
  secs: fc.nat({ max: 0xffff }),
  broadcast: fc.boolean(),
  ciaddr: address,
  yiaddr: address,
  siaddr: address,
  giaddr: address,
  chaddr: bytes(16, 16),
  sname: headerText(63),
  file: headerText(127),
  options: fc.array(fc.tuple(optionCode, optionValue), { maxLength: 20 }).map((entries) => new Map(entries)),
});

/** A packet with a valid header and raw option bytes; raw `sname` and `file` for tests that overload them. */
export function rawPacket(
  options: readonly number[],
  fields: { sname?: readonly number[]; file?: readonly number[] } = {},
): Uint8Array {
  const packet = new Uint8Array(240 + options.length);
  packet.set([1, 1, 6, 0, 0x48, 0xf5, 0x78, 0x1b]);
  packet.set([0x52, 0x54, 0, 0x12, 0x34, 0x56], 28);
  packet.set(fields.sname ?? [], 44);
  packet.set(fields.file ?? [], 108);
  packet.set([0x63, 0x82, 0x53, 0x63], 236);
  packet.set(options, 240);
  return packet;
}

export const ascii = (text: string): number[] => [...Buffer.from(text, 'latin1')];
