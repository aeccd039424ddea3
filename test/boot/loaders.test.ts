import { describe, expect, it } from 'vitest';
import { advertisedFiles, loaderFor } from '../../appliance/boot/loaders.ts';
import { CLIENT_ARCHITECTURES } from '../../appliance/domain/architecture.ts';
import { architecture } from './boot-fixtures.ts';

const PLAIN = { efiLoader: 'ipxe', secureBoot: false } as const;
const SECURE = { efiLoader: 'ipxe', secureBoot: true } as const;
const fileFor = (code: number, wishes: Parameters<typeof loaderFor>[1] = PLAIN) => {
  const choice = loaderFor(architecture(code), wishes);
  return choice.kind === 'loader' ? choice.file : null;
};

describe('the loader table', () => {
  it.each([
    [0, 'undionly.kpxe'],
    [6, 'i386-efi/snponly.efi'],
    [7, 'ipxe.efi'],
    [9, 'ipxe.efi'],
    [10, 'arm32-efi/snponly.efi'],
    [11, 'arm64-efi/snponly.efi'],
    [15, 'i386-efi/snponly.efi'],
    [16, 'ipxe.efi'],
    [17, 'ipxe.efi'],
    [18, 'arm32-efi/snponly.efi'],
    [19, 'arm64-efi/snponly.efi'],
    [27, 'riscv64-efi/snponly.efi'],
    [28, 'riscv64-efi/snponly.efi'],
    [39, 'loong64-efi/snponly.efi'],
    [40, 'loong64-efi/snponly.efi'],
  ])('sends architecture %i to %s', (code, file) => {
    expect(fileFor(code)).toBe(file);
  });

  it('has no loader for every other architecture, and says why', () => {
    const without = [...CLIENT_ARCHITECTURES.keys()].filter((code) => fileFor(code) === null);
    expect(without).toEqual([
      1, 2, 3, 4, 5, 8, 12, 13, 14, 20, 21, 22, 23, 24, 25, 26, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 41,
    ]);
    for (const code of without) expect(loaderFor(architecture(code), PLAIN).why).toMatch(/\w+ \w+/);
  });

  it('lets the network select the build for x86-64 UEFI, and for nothing else', () => {
    const changed = [...CLIENT_ARCHITECTURES.keys()].filter(
      (code) => fileFor(code) !== fileFor(code, { efiLoader: 'snponly', secureBoot: false }),
    );
    expect(changed).toEqual([7, 9, 16, 17]);
    expect(fileFor(7, { efiLoader: 'snponly', secureBoot: false })).toBe('snponly.efi');
  });

  it('sends UEFI under Secure Boot to a signed shim or has no loader, and does not affect BIOS', () => {
    expect([7, 9].map((code) => fileFor(code, SECURE))).toEqual(['shimx64.efi', 'shimx64.efi']);
    expect(fileFor(11, SECURE)).toBe('shimaa64.efi');
    expect([6, 10, 27, 39].map((code) => fileFor(code, SECURE))).toEqual([null, null, null, null]);
    expect(fileFor(0, SECURE)).toBe('undionly.kpxe');
  });

  it('has no loader for UEFI HTTP boot under Secure Boot: the signed GRUB could not continue', () => {
    for (const code of [16, 17, 19]) {
      expect(loaderFor(architecture(code), SECURE)).toMatchObject({
        kind: 'none',
        why: expect.stringMatching(/supports only TFTP/),
      });
    }
  });

  const without = (...absent: string[]) => ({ ...PLAIN, available: (file: string) => !absent.includes(file) });

  it('names no file that this appliance does not have, and says how to get it', () => {
    expect(loaderFor(architecture(27), without('riscv64-efi/snponly.efi'))).toEqual({
      kind: 'none',
      why: 'it needs riscv64-efi/snponly.efi, which is missing or damaged on this appliance: coldiron assets build',
    });
    expect(fileFor(7, without('arm64-efi/snponly.efi'))).toBe('ipxe.efi');
  });

  it('sends UEFI without Secure Boot to the signed pair where nothing else exists, over TFTP', () => {
    expect(loaderFor(architecture(11), without('arm64-efi/snponly.efi'))).toMatchObject({
      file: 'shimaa64.efi',
      next: 'grubaa64.efi',
      why: 'no arm64-efi/snponly.efi is on this appliance, and shimaa64.efi starts here too',
    });
    expect(fileFor(11, without('arm64-efi/snponly.efi', 'grubaa64.efi'))).toBeNull();
    expect(fileFor(19, without('arm64-efi/snponly.efi'))).toBeNull();
    expect(fileFor(0, without('undionly.kpxe'))).toBeNull();
  });

  it('names no shim whose GRUB is missing', () => {
    expect(fileFor(7, { ...SECURE, available: (file) => file !== 'grubx64.efi' })).toBeNull();
  });
});

describe('the advertised files', () => {
  it('are every file of the table, what shim fetches by itself, and the script', () => {
    expect(advertisedFiles().map((file) => file.httpPath)).toEqual([
      '/boot/ipxe/boot.ipxe',
      '/boot/loader/undionly.kpxe',
      '/boot/loader/i386-efi/snponly.efi',
      '/boot/loader/ipxe.efi',
      '/boot/loader/shimx64.efi',
      '/boot/loader/grubx64.efi',
      '/boot/loader/snponly.efi',
      '/boot/loader/arm32-efi/snponly.efi',
      '/boot/loader/arm64-efi/snponly.efi',
      '/boot/loader/shimaa64.efi',
      '/boot/loader/grubaa64.efi',
      '/boot/loader/riscv64-efi/snponly.efi',
      '/boot/loader/loong64-efi/snponly.efi',
    ]);
  });

  it('name one instruction set for each program, so that its bytes can be checked against it', () => {
    for (const { tftpName, cpu } of advertisedFiles()) expect(cpu === null).toBe(tftpName === null);
  });

  it('fit the 128 bytes of the BOOTP file field, terminator included', () => {
    for (const { tftpName } of advertisedFiles()) expect((tftpName ?? '').length).toBeLessThan(128);
  });
});
