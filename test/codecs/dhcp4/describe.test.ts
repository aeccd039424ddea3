import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import { describeDhcp, summarizeDhcp } from '../../../appliance/codecs/dhcp4/describe.ts';
import { bootFileWithoutDiscovery } from '../../../appliance/codecs/dhcp4/pxe-vendor.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import { dhcpCaptures } from './captured-packets.ts';
import { anyMessage, ascii, plainMessage, rawPacket, withOptions } from './dhcp-messages.ts';

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);
const shownOption = (code: number, value: Uint8Array): string | undefined =>
  describeDhcp(withOptions([[code, value]]))
    .split('\n')
    .at(-1)
    ?.trim();

describe('the full description', () => {
  test('is printable whatever the message holds, with one line per option', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const text = describeDhcp(message);
        expect(text).toMatch(/^[\x20-\x7e\n]+$/);
        const names = (message.file === '' ? 0 : 1) + (message.sname === '' ? 0 : 1);
        expect(text.split('\n')).toHaveLength(4 + names + message.options.size);
      }),
    );
  });

  test('shows control characters and quotes as escapes', () => {
    expect(shownOption(12, bytes(0x1b, 0x5b, 0x22, 0x5c, 0x0a, 0xff))).toBe('12 host name: "\\x1b[\\"\\\\\\x0a\\xff"');
  });

  test.each([
    ['the discovery control', 43, bootFileWithoutDiscovery(), '43 vendor specific: discovery control 08'],
    ['a boot item', 43, bytes(71, 4, 0, 1, 0, 0, 255), '43 vendor specific: boot item 1 layer 0'],
    ['an unknown sub-option', 43, bytes(200, 1, 5, 255), '43 vendor specific: sub-option 200 05'],
    [
      'a malformed encapsulation',
      43,
      bytes(6, 9),
      '43 vendor specific: damaged: sub-option 6 at byte 0 extends past the end; 0609',
    ],
    [
      'a relay',
      82,
      bytes(1, 2, 65, 1, 5, 4, 10, 0, 0, 0),
      '82 relay agent information: circuit "A\\x01"; link 10.0.0.0',
    ],
    ['a relay with unknown sub-options only', 82, bytes(9, 1, 1), '82 relay agent information: 090101'],
    ['an unknown architecture', 93, bytes(9, 9), '93 client architecture: 2313 (unknown)'],
    ['a truncated number', 57, bytes(5), '57 maximum message size: 05 (a 2-byte number expected, got a length of 1)'],
    ['a DUID', 61, bytes(255, 1, 2), '61 client identifier: DUID 0102'],
    ['an unknown message type', 53, bytes(77), '53 message type: 4d (unknown type)'],
    ['an empty value', 80, bytes(), '80 unknown: (empty)'],
    ['an interface that is not UNDI', 94, bytes(2, 1, 0), '94 client network interface: type 2, 1.0'],
    ['a list of addresses', 3, bytes(10, 0, 0, 1, 10, 0, 0, 2), '3 router: 10.0.0.1, 10.0.0.2'],
  ])('shows %s', (_, code, value, line) => {
    expect(shownOption(code, value)).toBe(line);
  });

  test('ends with the notes of the decoder', () => {
    const text = describeDhcp(decodeDhcp(rawPacket([53, 1, 1, 12, 200])));
    expect(text).toMatch(/\n {2}odd: option 12 at byte 243 extends past the end of the options field: ignored$/);
  });
});

describe('the summary', () => {
  test('is one bounded printable line whatever the message holds', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const line = summarizeDhcp(message);
        expect(line).toMatch(/^[\x20-\x7e]+$/);
        expect(line.length).toBeLessThan(1200);
      }),
    );
  });

  test('of a firmware DISCOVER names the client and its architecture', () => {
    const packet = dhcpCaptures().find((capture) => capture.name === 'uefi-x64-native.pcap')?.packets[0] ?? bytes();
    expect(summarizeDhcp(decodeDhcp(packet))).toMatch(
      /^DISCOVER xid 8a03100c 52:54:00:77:[0-9a-f:]{5} arch 7 EFI x86-64 "PXEClient:Arch:00007:UNDI:003000"$/,
    );
  });

  test('of a reply names the address, the server and the relay', () => {
    const options = new Map([
      [53, bytes(5)],
      [54, bytes(10, 0, 100, 1)],
    ]);
    expect(summarizeDhcp({ ...plainMessage, giaddr: '10.0.100.254' as Ipv4, options })).toBe(
      'ACK xid 48f5781b 52:54:00:12:34:56 via 10.0.100.254 gets 10.0.100.50 server 10.0.100.1 file "ipxe.efi"',
    );
  });

  test('identifies a client without hardware address by its client identifier', () => {
    const options = new Map([[61, bytes(0, ...ascii('ib0'))]]);
    expect(summarizeDhcp({ ...plainMessage, hlen: 0, options })).toMatch(/^BOOTP xid 48f5781b type 0, 696230 /);
    expect(summarizeDhcp({ ...plainMessage, hlen: 0 })).toMatch(/^BOOTP xid 48f5781b unknown client /);
  });
});
