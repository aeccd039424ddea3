// Facts of real firmware: the captured packets decoded by our codec, compared with an independent decoding.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type ClientFacts, factsFromDhcp } from '../../appliance/boot/client-facts.ts';
import { decodeDhcp } from '../../appliance/codecs/dhcp4/decode.ts';
import { readPcap } from '../captures/read-pcap.ts';

const CAPTURES = new URL('../captures/', import.meta.url);

function factsIn(capture: string): ClientFacts[] {
  return readPcap(new URL(capture, CAPTURES))
    .filter((datagram) => datagram.destinationPort === 67)
    .map((datagram) => decodeDhcp(datagram.payload))
    .filter((message) => message.op === 'request')
    .map(factsFromDhcp);
}

/** Each different client once, in order: program, architecture, what follows from them. */
const clients = (capture: string): string[] => [
  ...new Set(
    factsIn(capture).map(({ program, architecture, cpu, firmware }) =>
      [program, architecture?.code, cpu, firmware].filter((part) => part != null).join(' '),
    ),
  ),
];

describe('the facts from captured boots', () => {
  it.each([
    ['bios-qemu-rom.pcap', ['ipxe 0 x86_64 bios', 'os']],
    ['bios-scrubbed-rom-first-stage.pcap', ['firmware-pxe 0 x86_64 bios', 'ipxe 0 x86_64 bios', 'os']],
    ['bios-undionly-chain.pcap', ['ipxe 0 x86_64 bios', 'os']],
    ['uefi-x64-native.pcap', ['firmware-pxe 7 x86_64 efi', 'ipxe 7 x86_64 efi', 'os']],
    ['uefi-x64-httpboot.pcap', ['firmware-http 16 x86_64 efi', 'ipxe 7 x86_64 efi', 'os']],
    ['uefi-x64-qemu-ipxe-rom.pcap', ['ipxe 7 x86_64 efi', 'os']],
    ['uefi-x64-secureboot-shim-grub.pcap', ['firmware-pxe 7 x86_64 efi']],
    ['uefi-arm64-native.pcap', ['firmware-pxe 11 arm64 efi', 'os']],
    ['uefi-arm64-httpboot.pcap', ['firmware-http 19 arm64 efi']],
  ])('of %s identify the clients', (capture, expected) => {
    expect(clients(capture)).toEqual(expected);
  });

  it('have the UUID in the byte order that SMBIOS and iPXE print', () => {
    expect(factsIn('uefi-x64-native.pcap')[0]).toMatchObject({
      mac: '52:54:00:77:00:02',
      uuid: '7a11ab1e-0000-4000-8000-525400770002',
      address: null,
      relay: null,
      oddities: [],
    });
  });

  it('have the features of the iPXE in that capture', () => {
    const [efi] = factsIn('uefi-x64-qemu-ipxe-rom.pcap');
    expect(efi?.ipxe).toEqual({ version: '1.0.0', http: true, https: false, efi: true, bzimage: false, menu: true });
    const [bios] = factsIn('bios-qemu-rom.pcap');
    expect(bios?.ipxe).toEqual({ version: '1.0.0', http: true, https: false, efi: false, bzimage: true, menu: true });
  });

  it('name the relay, and a load generator that sends option 93 without 60', () => {
    expect(factsIn('perfdhcp-relay.pcap')[0]).toMatchObject({
      program: 'firmware-pxe',
      relay: '10.88.0.2',
      oddities: ['option 93 without option 60'],
    });
  });

  it('agree with the independent decoding of every captured client', () => {
    const decoded = JSON.parse(readFileSync(new URL('dhcp-facts.json', CAPTURES), 'utf8')) as Record<
      string,
      { mac?: string; opt93?: string; opt175?: string }[]
    >;
    // Retransmissions are in the captures but not in the decoding, so each client counts once.
    const each = (clients: (string | number | boolean | null | undefined)[][]) => [
      ...new Set(clients.map((client) => client.join(' '))),
    ];
    let compared = 0;
    for (const [capture, rows] of Object.entries(decoded)) {
      // A load generator with a MAC address for each packet, of which only the first was decoded.
      if (capture.startsWith('perfdhcp')) continue;
      const expected = each(
        rows
          .filter((row) => row.mac !== undefined)
          .map((row) => [row.mac, row.opt93 ? Number.parseInt(row.opt93, 16) : null, Boolean(row.opt175)]),
      );
      const actual = factsIn(capture).map((one) => [one.mac, one.architecture?.code, one.program === 'ipxe']);
      expect(each(actual), capture).toEqual(expected);
      compared += expected.length;
    }
    expect(compared).toBeGreaterThan(15);
  });

  it('treat the all-zero UUID of a bare virtual machine as none', () => {
    const { pxe_clients_to_server: runs } = JSON.parse(readFileSync(new URL('vectors.json', CAPTURES), 'utf8'));
    const facts = factsFromDhcp(decodeDhcp(Buffer.from(runs[0].packets[0].hex, 'hex')));
    expect(facts.uuid).toBeNull();
    expect(facts.oddities).toEqual([
      'not an identity: 00000000-0000-0000-0000-000000000000: the firmware reports no UUID (all zero)',
    ]);
  });
});
