// Facts from packets that firmware may send but that are not among the captures: written by hand, or random.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { factsFromDhcp } from '../../appliance/boot/client-facts.ts';
import { decideBoot } from '../../appliance/boot/decide-boot.ts';
import type { DhcpMessage } from '../../appliance/codecs/dhcp4/message.ts';
import { type Ipv4, parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { machineIn, NOW, networkWith } from './boot-fixtures.ts';

const UNSET = mustParse(parseIpv4('0.0.0.0'));
const text = (value: string) => Uint8Array.from(value, (letter) => letter.charCodeAt(0));

function message(options: Record<number, Uint8Array>, changes: Partial<DhcpMessage> = {}): DhcpMessage {
  return {
    op: 'request',
    htype: 1,
    hlen: 6,
    hops: 0,
    xid: 1,
    secs: 0,
    broadcast: true,
    ciaddr: UNSET,
    yiaddr: UNSET,
    siaddr: UNSET,
    giaddr: UNSET,
    chaddr: Uint8Array.of(0x52, 0x54, 0, 0x12, 0x34, 0x56, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    sname: '',
    file: '',
    options: new Map(Object.entries(options).map(([code, value]) => [Number(code), value])),
    ...changes,
  };
}

const facts = (options: Record<number, Uint8Array>, changes: Partial<DhcpMessage> = {}) =>
  factsFromDhcp(message(options, changes));

const PXE_X64 = text('PXEClient:Arch:00007:UNDI:003000');

describe('iPXE in a DHCP packet', () => {
  it.each([
    ['the bare text', text('iPXE')],
    ['one prefixed string', Uint8Array.of(4, ...text('iPXE'))],
    ['one of several prefixed strings', Uint8Array.of(3, ...text('lab'), 4, ...text('iPXE'))],
  ])('is recognized by its user class as %s', (_, userClass) => {
    expect(facts({ 60: PXE_X64, 77: userClass })).toMatchObject({ program: 'ipxe', ipxe: null, oddities: [] });
  });

  it('is recognized by option 175 with any user class', () => {
    expect(facts({ 60: PXE_X64, 77: text('Tinkerbell'), 175: Uint8Array.of(0x13, 1, 1) })).toMatchObject({
      program: 'ipxe',
      ipxe: { http: true, efi: false },
    });
  });

  it('is not assumed from another user class', () => {
    expect(facts({ 60: PXE_X64, 77: text('iPXE2') }).program).toBe('firmware-pxe');
  });

  it('has no features with a damaged option 175, and is still iPXE', () => {
    expect(facts({ 60: PXE_X64, 175: Uint8Array.of(0x13, 1, 1, 0x24, 9) })).toMatchObject({
      program: 'ipxe',
      ipxe: null,
      oddities: ['option 175: sub-option 36 at byte 3 extends past the end'],
    });
  });
});

describe('the architecture in a DHCP packet', () => {
  it('is the first known of the list in option 93', () => {
    const { architecture, oddities } = facts({ 60: PXE_X64, 93: Uint8Array.of(0, 99, 0, 7, 0, 0) });
    expect(architecture?.code).toBe(7);
    expect(oddities).toEqual(['option 93 has codes that IANA does not list: 99']);
  });

  it('comes from option 60 where option 93 is missing or damaged', () => {
    expect(facts({ 60: PXE_X64 }).architecture?.code).toBe(7);
    expect(facts({ 60: PXE_X64, 93: Uint8Array.of(7) })).toMatchObject({ architecture: { code: 7 } });
    expect(facts({ 60: PXE_X64, 93: Uint8Array.of(7) }).oddities).toEqual([
      'option 93: a list of architectures needs an even, non-zero number of bytes, got 1',
    ]);
  });

  it('follows option 93 where the two options differ, and reports an oddity', () => {
    expect(facts({ 60: PXE_X64, 93: Uint8Array.of(0, 11) })).toMatchObject({
      architecture: { code: 11 },
      cpu: 'arm64',
      oddities: ['option 60 says architecture 7, option 93 says 11'],
    });
  });

  it('is null where no option has it', () => {
    expect(facts({ 60: text('PXEClient') })).toMatchObject({ program: 'firmware-pxe', architecture: null, cpu: null });
    expect(facts({ 60: text('PXEClient:Arch:00099:UNDI:003000') }).architecture).toBeNull();
  });
});

describe('other DHCP clients', () => {
  it.each([
    ['U-Boot.armv8', 'loader'],
    ['onie_vendor:x86_64-dell_s6100-r0', 'loader'],
    ['udhcp 1.35.0', 'os'],
    ['MSFT 5.0', 'os'],
    ['HTTPClient', 'firmware-http'],
  ])('%s is: %s', (vendorClass, program) => {
    expect(facts({ 60: text(vendorClass) }).program).toBe(program);
  });

  it('include the Raspberry Pi, whose boot ROM reports x86', () => {
    const chaddr = Uint8Array.of(0xb8, 0x27, 0xeb, 1, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
    const rom = { 60: text('PXEClient:Arch:00000:UNDI:002001'), 93: Uint8Array.of(0, 0) };
    expect(facts({ ...rom, 97: new Uint8Array(17).fill(0x44, 1) }, { chaddr })).toMatchObject({
      raspberryPiRom: true,
      cpu: null,
      firmware: 'other',
      uuid: null,
    });
    // Its UEFI firmware reports its real architecture, and its iPXE is iPXE.
    expect(facts({ 60: text('PXEClient'), 93: Uint8Array.of(0, 11) }, { chaddr }).raspberryPiRom).toBe(false);
    expect(facts({ ...rom, 175: Uint8Array.of(0x13, 1, 1) }, { chaddr }).raspberryPiRom).toBe(false);
    expect(facts(rom).raspberryPiRom).toBe(false);
  });

  it('include InfiniBand, which has no MAC address in the packet', () => {
    expect(facts({ 60: PXE_X64 }, { htype: 32, hlen: 0 })).toMatchObject({
      mac: null,
      oddities: ['hardware type 32 with 0 address bytes is not Ethernet'],
    });
  });

  it('may have an address already', () => {
    const ciaddr = '10.0.100.50' as Ipv4;
    expect(facts({}, { ciaddr })).toMatchObject({ program: 'os', address: ciaddr });
  });
});

describe('any DHCP packet', () => {
  const bytes = fc.uint8Array({ maxLength: 60 });
  const options = fc.record({ 60: bytes, 77: bytes, 93: bytes, 97: bytes, 175: bytes }, { requiredKeys: [] });

  it('gives facts and a decision, never an exception, and harmless oddities', () => {
    fc.assert(
      fc.property(options, fc.nat(255), fc.nat(255), bytes, (given, htype, hlen, chaddr) => {
        const parsedFacts = facts(given as Record<number, Uint8Array>, { htype, hlen, chaddr });
        for (const oddity of parsedFacts.oddities) expect(oddity).toMatch(/^[\x20-\x7e…]*$/);
        const machine = machineIn('active');
        expect(
          decideBoot({ facts: parsedFacts, machine, network: networkWith(), profile: null, now: NOW }),
        ).toBeDefined();
      }),
      { numRuns: 5_000 },
    );
  });
});
