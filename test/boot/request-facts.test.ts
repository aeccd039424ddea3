import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { factsFromHttp, factsFromQuestion, factsFromTftp } from '../../appliance/boot/client-facts.ts';
import { architecture, MAC, SERVER, UUID } from './boot-fixtures.ts';

const { address } = SERVER;
const path = '/boot/ipxe/52-54-00-12-34-56.ipxe';

describe('the facts of an HTTP request', () => {
  it('are what iPXE fills into the query of its script', () => {
    const facts = factsFromHttp({
      path,
      address,
      userAgent: 'iPXE/1.21.1+git',
      mac: '52-54-00-12-34-56',
      uuid: UUID.toUpperCase(),
      serial: ' S3RIAL ',
      buildarch: 'x86_64',
      platform: 'efi',
    });
    expect(facts).toMatchObject({
      via: 'http',
      program: 'ipxe',
      mac: MAC,
      uuid: UUID,
      serial: 'S3RIAL',
      cpu: 'x86_64',
      firmware: 'efi',
      address,
      file: path,
      oddities: [],
    });
  });

  it('recognize that a 32-bit BIOS build of iPXE runs on 64-bit machines', () => {
    expect(factsFromHttp({ path, address, buildarch: 'i386', platform: 'pcbios' })).toMatchObject({
      cpu: 'x86_64',
      firmware: 'bios',
    });
    expect(factsFromHttp({ path, address, buildarch: 'i386', platform: 'efi' }).cpu).toBe('i386');
  });

  it.each([
    ['UefiHttpBoot/1.0', 'firmware-http'],
    ['iPXE/2.0', 'ipxe'],
    ['GRUB 2.06', 'loader'],
    ['curl/8.0', 'os'],
    [undefined, 'os'],
  ])('identify %s as: %s', (userAgent, program) => {
    expect(factsFromHttp({ path, address, userAgent }).program).toBe(program);
  });

  it('may name the architecture by its code', () => {
    expect(factsFromHttp({ path, address, arch: '11' })).toMatchObject({ cpu: 'arm64', firmware: 'efi' });
    expect(factsFromHttp({ path, address, arch: '7x' }).oddities).toEqual(['not an architecture code: 7x']);
  });

  it('ignore empty values, and report invalid ones', () => {
    expect(factsFromHttp({ path, address, mac: '', uuid: '', serial: '', buildarch: '', platform: '' })).toMatchObject({
      mac: null,
      uuid: null,
      serial: null,
      cpu: null,
      firmware: null,
      oddities: [],
    });
    const wrong = factsFromHttp({ path, address, mac: 'x', uuid: 'y', buildarch: 'z', platform: 'sbi' });
    expect(wrong).toMatchObject({ mac: null, uuid: null, cpu: null, firmware: 'other' });
    expect(wrong.oddities.map((oddity) => oddity.split(/[:(]/)[0]?.trim())).toEqual([
      'not a MAC address',
      'not a UUID',
      'not a supported architecture',
    ]);
  });

  it('can be read from any text', () => {
    const any = fc.option(fc.string({ unit: 'binary' }), { nil: undefined });
    const requests = fc.record({
      mac: any,
      uuid: any,
      serial: any,
      buildarch: any,
      platform: any,
      arch: any,
      userAgent: any,
    });
    fc.assert(
      fc.property(requests, (request) => {
        for (const oddity of factsFromHttp({ path, address, ...request }).oddities) {
          expect(oddity).toMatch(/^[\x20-\x7e…]*$/);
        }
      }),
    );
  });
});

describe('the facts of a TFTP request', () => {
  it.each([
    ['ipxe.efi', 'firmware-pxe'],
    ['secboot\\shimx64.efi', 'firmware-pxe'],
    ['autoexec.ipxe', 'ipxe'],
    ['secboot/grubx64.efi', 'loader'],
    ['secboot/revocations_sbat.efi', 'loader'],
    ['/grub/grub.cfg', 'loader'],
  ])('identify the client that requests %s as: %s', (file, program) => {
    expect(factsFromTftp({ address, file })).toMatchObject({ via: 'tftp', program, file, mac: null, cpu: null });
  });

  it('have the MAC address of the lease holder', () => {
    expect(factsFromTftp({ address, file: 'ipxe.efi', mac: MAC }).mac).toBe(MAC);
  });
});

describe('the facts of a query', () => {
  const ask = (code: number, stage: 'firmware' | 'ipxe') =>
    factsFromQuestion({ mac: MAC, architecture: architecture(code), uuid: null, relay: null, stage });

  it('are those of the firmware, by PXE or HTTP as its architecture says', () => {
    expect(ask(7, 'firmware')).toMatchObject({ program: 'firmware-pxe', cpu: 'x86_64', ipxe: null });
    expect(ask(16, 'firmware').program).toBe('firmware-http');
  });

  it('are those of our iPXE at that stage', () => {
    expect(ask(7, 'ipxe')).toMatchObject({ program: 'ipxe', ipxe: { http: true, efi: true, bzimage: false } });
    expect(ask(0, 'ipxe')).toMatchObject({ program: 'ipxe', ipxe: { http: true, efi: false, bzimage: true } });
  });
});
