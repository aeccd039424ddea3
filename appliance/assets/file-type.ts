// Detects the type of a boot file from its first bytes. Its name proves nothing, and firmware that is sent a program for another
// machine type hangs, or continues with its next boot entry without any message.

import type { CpuArchitecture } from '../domain/architecture.ts';

export type FileType =
  /** A PE/COFF program for UEFI. `cpu` is null for an unknown machine type. */
  | { readonly kind: 'efi'; readonly cpu: CpuArchitecture | null }
  /** A network boot program for BIOS: raw code that the ROM loads at 0000:7c00. */
  | { readonly kind: 'bios' }
  | { readonly kind: 'kernel'; readonly cpu: CpuArchitecture | null }
  | { readonly kind: 'initrd' }
  | { readonly kind: 'script' }
  /** Written to a disk unchanged. Its first bytes can be anything, so its name decides. */
  | { readonly kind: 'disk' }
  | { readonly kind: 'unknown' };

/** Enough of a file to detect its type: a DOS stub before the PE header takes a few hundred bytes. */
export const TYPE_HEAD_BYTES = 4096;

/** PE/COFF specification, "Machine Types". */
const PE_MACHINES: ReadonlyMap<number, CpuArchitecture> = new Map([
  [0x014c, 'i386'],
  [0x01c2, 'arm32'], // Thumb, which is what UEFI for ARM runs
  [0x01c4, 'arm32'],
  [0x5064, 'riscv64'],
  [0x6264, 'loong64'],
  [0x8664, 'x86_64'],
  [0xaa64, 'arm64'],
]);

export function detectFileType(head: Uint8Array): FileType {
  if (startsWith(head, '#!')) return { kind: 'script' };
  // Kernels with an EFI stub are PE programs too, so kernels are checked first.
  const kernel = kernelOf(head);
  if (kernel) return kernel;
  const machine = peMachine(head);
  if (machine !== null) return { kind: 'efi', cpu: PE_MACHINES.get(machine) ?? null };
  if (isPxeProgram(head)) return { kind: 'bios' };
  return INITRD_MAGICS.some((magic) => hasBytes(head, 0, magic)) ? { kind: 'initrd' } : { kind: 'unknown' };
}

function kernelOf(head: Uint8Array): FileType | null {
  // Linux x86 boot protocol: 55aa at 0x1fe, "HdrS" at 0x202; bit 0 of xloadflags (0x236, since 2.12): 64-bit entry.
  if (uint16(head, 0x1fe) === 0xaa55 && hasText(head, 0x202, 'HdrS')) {
    return { kind: 'kernel', cpu: ((head[0x236] ?? 0) & 1) === 1 ? 'x86_64' : 'i386' };
  }
  // Documentation/arch/{arm64,riscv,loongarch}: the magic of an Image is at 0x38.
  if (hasText(head, 0x38, 'ARM\x64')) return { kind: 'kernel', cpu: 'arm64' };
  if (hasText(head, 0x38, 'RSC\x05')) return { kind: 'kernel', cpu: 'riscv64' };
  // zImage for 32-bit ARM: 016f2818 at 0x24.
  if (hasBytes(head, 0x24, [0x18, 0x28, 0x6f, 0x01])) return { kind: 'kernel', cpu: 'arm32' };
  const machine = peMachine(head);
  const cpu = machine === null ? null : (PE_MACHINES.get(machine) ?? null);
  if (machine !== null && hasBytes(head, 0x38, [0xcd, 0x23, 0x82, 0x81])) return { kind: 'kernel', cpu };
  // A compressed kernel that unpacks itself as an EFI program (CONFIG_EFI_ZBOOT).
  return machine !== null && hasText(head, 4, 'zimg') ? { kind: 'kernel', cpu } : null;
}

/** "MZ", at 0x3c the offset of "PE\0\0", followed by the machine type. */
function peMachine(head: Uint8Array): number | null {
  if (!startsWith(head, 'MZ')) return null;
  const at = (uint16(head, 0x3c) ?? 0) + (uint16(head, 0x3e) ?? 0) * 0x10000;
  return hasText(head, at, 'PE\0\0') ? uint16(head, at + 4) : null;
}

/** A far jump to 07c0:xxxx, with which iPXE and PXELINUX begin; iPXE prints where it found the PXE stack. */
const isPxeProgram = (head: Uint8Array): boolean =>
  head[0] === 0xea && uint16(head, 3) === 0x07c0 && latin1(head).includes('PXE->EB:');

const INITRD_MAGICS: readonly (readonly number[])[] = [
  [0x1f, 0x8b], // gzip
  [0x28, 0xb5, 0x2f, 0xfd], // zstd
  [0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00], // xz
  [0x02, 0x21, 0x4c, 0x18], // lz4, in the old frame that the kernel reads
  [0x42, 0x5a, 0x68], // bzip2
  [0x5d, 0x00, 0x00], // lzma
  [0x89, 0x4c, 0x5a, 0x4f, 0x00, 0x0d, 0x0a], // lzo
  [0x30, 0x37, 0x30, 0x37, 0x30, 0x31], // cpio "070701", plain or in front of a compressed one (microcode)
  [0x30, 0x37, 0x30, 0x37, 0x30, 0x32], // cpio "070702"
];

function uint16(bytes: Uint8Array, at: number): number | null {
  const low = bytes[at];
  const high = bytes[at + 1];
  return low === undefined || high === undefined ? null : low | (high << 8);
}

const hasBytes = (bytes: Uint8Array, at: number, expected: readonly number[]): boolean =>
  expected.every((byte, offset) => bytes[at + offset] === byte);
const hasText = (bytes: Uint8Array, at: number, text: string): boolean =>
  hasBytes(
    bytes,
    at,
    Array.from(text, (character) => character.charCodeAt(0)),
  );
const startsWith = (bytes: Uint8Array, text: string): boolean => hasText(bytes, 0, text);
const latin1 = (bytes: Uint8Array): string => Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');

export function fileTypeInWords(type: FileType): string {
  switch (type.kind) {
    case 'efi':
      return `an EFI program for ${type.cpu ?? 'an unknown machine type'}`;
    case 'bios':
      return 'a network boot program for BIOS';
    case 'kernel':
      return `a Linux kernel for ${type.cpu ?? 'an unknown machine type'}`;
    case 'initrd':
      return 'an initrd (cpio archive or a compressed one)';
    case 'script':
      return 'a script';
    case 'disk':
      return 'an image of a disk';
    case 'unknown':
      return 'a file of no bootable type';
  }
}
