import { randomFillSync } from 'node:crypto';
import { closeSync, mkdirSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

const MEBIBYTE = 1024 * 1024;
const PE_X86_64 = 0x8664;
const HEADER_AT = 0x80;

/** The boot file of x86-64 UEFI machines. */
export const LOADER = 'snponly.efi';

/** As long as iPXE with all its drivers; nothing runs it, but it is served only because it looks like an EFI program. */
export function putLoader(state: string): Buffer {
  const file = join(loaderFolder(state), LOADER);
  const loader = randomFillSync(Buffer.alloc(MEBIBYTE));
  loader.write('MZ');
  loader.writeUInt32LE(HEADER_AT, 0x3c);
  loader.write('PE\0\0', HEADER_AT, 'latin1');
  loader.writeUInt16LE(PE_X86_64, HEADER_AT + 4);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  writeFileSync(file, loader);
  return loader;
}

export const loaderFolder = (state: string): string => join(state, 'assets/loader');

export function putImage(file: string, mebibytes: number): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const handle = openSync(file, 'w');
  const chunk = randomFillSync(Buffer.alloc(MEBIBYTE));
  for (let written = 0; written < mebibytes; written++) writeSync(handle, chunk);
  closeSync(handle);
}
