import { describe, expect, it } from 'vitest';
import { cpuFromBuildArch, parseClientArchCode, parseCpuArchitecture } from '../../appliance/domain/architecture.ts';
import { chassisUuidFromOption97, parseChassisUuid } from '../../appliance/domain/chassis.ts';
import { parseDomainName, parseHostname, parseObjectName } from '../../appliance/domain/names.ts';

const hex = (text: string) => Uint8Array.from(Buffer.from(text, 'hex'));

describe('a chassis UUID', () => {
  it('is the same from DHCP, where the first three fields are little-endian, and from SMBIOS text', () => {
    // OVMF's option 97 for -uuid 7a11ab1e-0102-4304-8506-0708090a0b0c
    const wire = chassisUuidFromOption97(hex('001eab117a020104438506' + '0708090a0b0c'));
    expect(wire).toEqual({ ok: true, value: '7a11ab1e-0102-4304-8506-0708090a0b0c' });
    expect(parseChassisUuid('7A11AB1E-0102-4304-8506-0708090A0B0C')).toEqual(wire);
  });

  it.each([
    ['00000000-0000-0000-0000-000000000000', 'all zero'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'all ones'],
    ['44444444-4444-4444-4444-444444444444', 'Raspberry Pi'],
    ['03000200-0400-0500-0006-000700080009', 'many boards share'],
  ])('is rejected when whole product lines share %s', (text, why) => {
    const result = parseChassisUuid(text);
    expect(result.ok).toBe(false);
    expect(!result.ok && result.reason).toContain(why);
  });

  it.each(['', '00', `01${'00'.repeat(16)}`, '00'.repeat(18)])('is rejected from option 97 = %s', (bytes) => {
    expect(chassisUuidFromOption97(hex(bytes)).ok).toBe(false);
  });
});

describe('a client architecture', () => {
  it.each([
    [0, 'x86_64', 'bios', 'tftp'],
    [7, 'x86_64', 'efi', 'tftp'],
    [9, 'x86_64', 'efi', 'tftp'],
    [11, 'arm64', 'efi', 'tftp'],
    [16, 'x86_64', 'efi', 'http'],
    [19, 'arm64', 'efi', 'http'],
    [27, 'riscv64', 'efi', 'tftp'],
  ] as const)('%i is %s, %s, over %s', (code, cpu, firmware, transport) => {
    expect(parseClientArchCode(code)).toMatchObject({ ok: true, value: { code, cpu, firmware, transport } });
  });

  it('is rejected when it is not in the IANA registry', () => {
    expect(parseClientArchCode(99)).toEqual({
      ok: false,
      reason: 'not a client architecture in the IANA registry: 99',
    });
  });

  it('of a 32-bit BIOS iPXE does not determine the CPU', () => {
    expect(cpuFromBuildArch('i386', 'pcbios')).toEqual({ ok: true, value: 'x86_64' });
    expect(cpuFromBuildArch('i386', 'efi')).toEqual({ ok: true, value: 'i386' });
    expect(cpuFromBuildArch('arm64', 'efi')).toEqual({ ok: true, value: 'arm64' });
    expect(parseCpuArchitecture('sparc').ok).toBe(false);
  });
});

describe('a name', () => {
  it.each(['node01', 'a', 'n-1', 'x'.repeat(63)])('%s is a host name', (text) => {
    expect(parseHostname(text)).toEqual({ ok: true, value: text });
  });

  it.each([
    ['Node01', 'host names are lower case here: Node01'],
    ['node01.example.com', 'a host name is one label, without its domain: node01.example.com'],
    ['-n', 'not a host name (letters, digits and inner hyphens, at most 63): -n'],
    ['n'.repeat(64), `not a host name (letters, digits and inner hyphens, at most 63): ${'n'.repeat(60)}…`],
    ['no\nde', 'not a host name (letters, digits and inner hyphens, at most 63): no\\u000ade'],
  ])('%j is not a host name', (text, reason) => {
    expect(parseHostname(text)).toEqual({ ok: false, reason });
  });

  it('of an object is safe in a path and a URL', () => {
    for (const good of ['debian-12', 'gp1.large', 'prod_cluster']) expect(parseObjectName(good).ok).toBe(true);
    for (const bad of ['', '.', '..', 'a..b', 'a/b', 'A', 'ä', 'a b', '-a', '__proto__'])
      expect(parseObjectName(bad).ok, bad).toBe(false);
  });

  it('of a domain has labels and dots', () => {
    expect(parseDomainName('prov.example.com').ok).toBe(true);
    for (const bad of ['', 'example..com', 'example.com.', 'exa mple.com', `${'a.'.repeat(130)}a`]) {
      expect(parseDomainName(bad).ok, bad).toBe(false);
    }
  });
});
