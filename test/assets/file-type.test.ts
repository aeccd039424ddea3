import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { detectFileType, fileTypeInWords } from '../../appliance/assets/file-type.ts';
import { bzImage, kernelImage, PE_MACHINE, peFile, pxeProgram } from './tiny-files.ts';

describe('detectFileType', () => {
  it.each(Object.entries(PE_MACHINE))('detects an EFI program for %s by its PE machine type', (cpu, machine) => {
    expect(detectFileType(peFile(machine))).toEqual({ kind: 'efi', cpu });
  });

  it('detects an EFI program of an unknown machine type', () => {
    const type = detectFileType(peFile(0x0ebc));
    expect(type).toEqual({ kind: 'efi', cpu: null });
    expect(fileTypeInWords(type)).toBe('an EFI program for an unknown machine type');
  });

  it('detects a kernel before an EFI program, because kernels are EFI programs too', () => {
    expect(detectFileType(bzImage(1))).toEqual({ kind: 'kernel', cpu: 'x86_64' });
    expect(detectFileType(bzImage(0))).toEqual({ kind: 'kernel', cpu: 'i386' });
    expect(detectFileType(kernelImage(PE_MACHINE.arm64, 'ARM\x64'))).toEqual({ kind: 'kernel', cpu: 'arm64' });
    expect(detectFileType(kernelImage(PE_MACHINE.riscv64, 'RSC\x05'))).toEqual({ kind: 'kernel', cpu: 'riscv64' });
    const zImage = peFile(PE_MACHINE.arm32);
    zImage.writeUInt32LE(0x016f2818, 0x24);
    expect(detectFileType(zImage)).toEqual({ kind: 'kernel', cpu: 'arm32' });
    const loong = kernelImage(PE_MACHINE.loong64, '\xcd\x23\x82\x81');
    expect(detectFileType(loong)).toEqual({ kind: 'kernel', cpu: 'loong64' });
  });

  it('detects the architecture of a self-extracting kernel', () => {
    const zboot = peFile(PE_MACHINE.arm64);
    zboot.write('zimg', 4);
    expect(detectFileType(zboot)).toEqual({ kind: 'kernel', cpu: 'arm64' });
  });

  it('detects a BIOS program only by both its jump and its text', () => {
    expect(detectFileType(pxeProgram())).toEqual({ kind: 'bios' });
    expect(detectFileType(Buffer.from([0xea, 0x05, 0x00, 0xc0, 0x07]))).toEqual({ kind: 'unknown' });
  });

  it.each([
    ['gzip', gzipSync('x')],
    ['zstd', zstdCompressSync('x')],
    ['bzip2', Buffer.from('BZh91AY&SY')],
    ['lzma', Buffer.from([0x5d, 0x00, 0x00, 0x80, 0x00])],
    ['lzo', Buffer.from([0x89, 0x4c, 0x5a, 0x4f, 0x00, 0x0d, 0x0a, 0x1a, 0x0a])],
    ['cpio', Buffer.from('070701000000')],
    ['cpio with checksums', Buffer.from('070702000000')],
  ])('is an initrd for %s', (_what, bytes) => {
    expect(detectFileType(bytes)).toEqual({ kind: 'initrd' });
  });

  it('detects a script by its first two characters', () => {
    expect(detectFileType(Buffer.from('#!ipxe\nexit 1\n'))).toEqual({ kind: 'script' });
  });

  it('detects some type for any bytes, also truncated files and wrong headers', () => {
    const whole = [peFile(PE_MACHINE.x86_64), bzImage(1), pxeProgram()];
    const cut = fc
      .tuple(fc.constantFrom(...whole), fc.nat(1200))
      .map(([file, length]) => new Uint8Array(file.subarray(0, length)));
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 700 }), cut), (bytes) => {
        expect(fileTypeInWords(detectFileType(bytes))).toMatch(/\w/);
      }),
    );
    const lying = peFile(PE_MACHINE.x86_64);
    lying.writeUInt32LE(0xffffffff, 0x3c);
    expect(detectFileType(lying)).toEqual({ kind: 'unknown' });
  });
});
