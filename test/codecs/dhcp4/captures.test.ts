import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { describeDhcp } from '../../../appliance/codecs/dhcp4/describe.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import { DhcpDecodeError } from '../../../appliance/codecs/dhcp4/errors.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { readU16 } from '../../../appliance/codecs/dhcp4/option-values.ts';
import { messageType, OPTION } from '../../../appliance/codecs/dhcp4/options.ts';
import { CAPTURES, dhcpCaptures, dhcpPackets } from './captured-packets.ts';

const GOLDENS = new URL('goldens/', CAPTURES);
const captures = dhcpCaptures();
const goldenName = (capture: string): string => `${capture.replace(/\.[a-z]+$/, '')}.txt`;
const goldensBefore = readdirSync(GOLDENS).sort();

describe('captured packets', () => {
  test('cover every kind of client', () => {
    expect(captures.map((capture) => [capture.name, capture.packets.length])).toEqual([
      ['bios-qemu-rom.pcap', 10],
      ['bios-scrubbed-rom-first-stage.pcap', 13],
      ['bios-undionly-chain.pcap', 18],
      ['perfdhcp-relay.pcap', 6],
      ['uefi-arm64-httpboot.pcap', 4],
      ['uefi-arm64-native.pcap', 8],
      ['uefi-x64-httpboot.pcap', 14],
      ['uefi-x64-native.pcap', 14],
      ['uefi-x64-qemu-ipxe-rom.pcap', 10],
      ['uefi-x64-secureboot-shim-grub.pcap', 4],
      ['uefi-x64-tftp-windowsize-atftpd.pcap', 4],
      ['vectors.json', 15],
    ]);
  });

  test('have one golden per capture and no other golden', () => {
    expect(goldensBefore).toEqual(captures.map((capture) => goldenName(capture.name)).sort());
  });

  test.each(captures)('$name decodes to its golden', async ({ name, packets }) => {
    const text = packets.map((packet) => `${describeDhcp(decodeDhcp(packet))}\n`).join('\n');
    await expect(text).toMatchFileSnapshot(fileURLToPath(new URL(goldenName(name), GOLDENS)));
  });

  test.each(captures)('$name survives encoding unchanged', ({ packets }) => {
    for (const packet of packets) {
      const message = decodeDhcp(packet);
      const { bytes, dropped } = encodeDhcp(message, { maxBytes: 1472 });
      expect(dropped).toEqual([]);
      expect(sortedOptions(decodeDhcp(bytes))).toEqual(sortedOptions(message));
    }
  });

  test('decode or raise a decode error when truncated at any byte', () => {
    let cuts = 0;
    for (const packet of dhcpPackets()) {
      for (let length = 0; length < packet.length; length++) {
        try {
          describeDhcp(decodeDhcp(packet.subarray(0, length)));
          expect(length).toBeGreaterThanOrEqual(240);
        } catch (error) {
          if (!(error instanceof DhcpDecodeError)) throw error;
          expect(error.field).toBe('length');
          expect(length).toBeLessThan(240);
        }
        cuts++;
      }
    }
    expect(cuts).toBeGreaterThan(35_000);
  });
});

// Another program decoded dhcp-facts.json from the same captures.
describe('an independent decoder agrees', () => {
  const facts = JSON.parse(readFileSync(new URL('dhcp-facts.json', CAPTURES), 'utf8')) as Record<string, Fact[]>;

  test.each(Object.entries(facts))('on every kind of client packet in %s', (name, entries) => {
    const expected = entries.filter((entry) => 'type' in entry);
    const packets = captures.find((capture) => capture.name === name)?.packets ?? [];
    const decoded = packets
      .map((packet) => ({ packet, message: decodeDhcp(packet) }))
      .filter(({ message }) => message.op === 'request')
      .map(({ packet, message }) => factOf(packet, message));
    expect(firstOfEachShape(decoded)).toEqual(expected);
  });
});

type Fact = Record<string, unknown>;

/** dhcp-facts.json omits packets that differ from an earlier one only in secs or sender, such as iPXE's second DISCOVER. */
function firstOfEachShape(facts: readonly Fact[]): Fact[] {
  const shapes = new Map<string, Fact>();
  for (const fact of facts) {
    const shape = JSON.stringify({ ...fact, secs: null, mac: null, opt61: null });
    if (!shapes.has(shape)) shapes.set(shape, fact);
  }
  return [...shapes.values()];
}

function factOf(packet: Uint8Array, message: DhcpMessage): Fact {
  const hexOf = (code: number): string => Buffer.from(message.options.get(code) ?? []).toString('hex');
  const size = message.options.get(OPTION.maxMessageSize);
  const sizeRead = size && readU16(size);
  return {
    type: messageType(message)?.toUpperCase(),
    mac: Buffer.from(message.chaddr.subarray(0, 6))
      .toString('hex')
      .replace(/(..)(?!$)/g, '$1:'),
    flags: message.broadcast ? '8000' : '0000',
    secs: message.secs,
    giaddr: message.giaddr,
    udp_payload_len: packet.length,
    option_order: [...message.options.keys()],
    opt60: Buffer.from(message.options.get(OPTION.vendorClass) ?? []).toString('latin1'),
    opt93: hexOf(OPTION.clientArchitecture),
    opt94: hexOf(OPTION.networkInterface),
    opt97: hexOf(OPTION.chassisUuid),
    opt77: hexOf(OPTION.userClass),
    opt175: hexOf(OPTION.ipxe),
    opt57: sizeRead?.ok ? sizeRead.value : null,
    opt61: hexOf(OPTION.clientIdentifier),
    opt55: [...(message.options.get(OPTION.parameterRequestList) ?? [])],
  };
}

/** The encoder reorders options; everything else must be equal. */
const sortedOptions = (message: DhcpMessage) => ({
  ...message,
  options: [...message.options].sort(([a], [b]) => a - b),
});
