// The smallest valid files of each type, and a temporary folder for them.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { onTestFinished } from 'vitest';

export const PE_MACHINE = {
  i386: 0x014c,
  arm32: 0x01c2,
  riscv64: 0x5064,
  loong64: 0x6264,
  x86_64: 0x8664,
  arm64: 0xaa64,
} as const;

/** `headerAt`: offset of the PE header; firmware programs have it right behind a DOS stub. */
export function peFile(machine: number, headerAt = 0x80): Buffer {
  const file = Buffer.alloc(headerAt + 64);
  file.write('MZ');
  file.writeUInt32LE(headerAt, 0x3c);
  file.write('PE\0\0', headerAt, 'latin1');
  file.writeUInt16LE(machine, headerAt + 4);
  return file;
}

export function bzImage(xloadflags: number): Buffer {
  const file = peFile(PE_MACHINE.x86_64, 0x300);
  file.writeUInt16LE(0xaa55, 0x1fe);
  file.write('HdrS', 0x202);
  file.writeUInt16LE(xloadflags, 0x236);
  return file;
}

export function kernelImage(machine: number, magic: string): Buffer {
  const file = peFile(machine);
  file.write(magic, 0x38, 'latin1');
  return file;
}

export function pxeProgram(): Buffer {
  const file = Buffer.alloc(1024);
  Buffer.from([0xea, 0x05, 0x00, 0xc0, 0x07]).copy(file);
  file.write('PXE->EB:', 0x200);
  return file;
}

/** A folder that is removed after the test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-test-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export function put(folder: string, name: string, bytes: Uint8Array | string): string {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
  return file;
}
