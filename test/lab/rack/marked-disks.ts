// Disks that print on the serial line when a machine boots from them.

import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { MachineDisk } from '../../../appliance/lab/rack/firmware.ts';

/** BIOS loads the first sector to 0x7c00 and jumps there. */
const PRINT_AND_HALT = [
  0xfa, // cli: SeaBIOS writes to the same line at every timer tick
  ...[0x31, 0xc0], // xor ax, ax
  ...[0x8e, 0xd8], // mov ds, ax
  0xfc, // cld
  ...[0xbe, 0x23, 0x7c], // mov si, 0x7c23: the text, right behind this
  0xac, // lodsb
  ...[0x84, 0xc0], // test al, al
  ...[0x74, 0x12], // jz +18: to hlt
  ...[0x88, 0xc4], // mov ah, al
  ...[0xba, 0xfd, 0x03], // mov dx, 0x3fd: the status of the first serial port
  0xec, // in al, dx
  ...[0xa8, 0x20], // test al, 0x20: whether it accepts a character; otherwise the character would be lost
  ...[0x74, 0xfb], // jz -5: to in
  ...[0x88, 0xe0], // mov al, ah
  ...[0xba, 0xf8, 0x03], // mov dx, 0x3f8
  0xee, // out dx, al
  ...[0xeb, 0xe9], // jmp -23: to lodsb
  0xf4, // hlt
  ...[0xeb, 0xfd], // jmp -3: to hlt
];

/** The start of a disk that BIOS boots: sends the text to the first serial port, and halts. */
export const bootCode = (text: string): Buffer =>
  Buffer.concat([Buffer.from(PRINT_AND_HALT), Buffer.from(`\r\n${text}\r\n\0`, 'latin1')]);

/** The first sector of a disk that BIOS boots. */
export function bootSector(text: string): Buffer {
  const sector = Buffer.alloc(512);
  bootCode(text).copy(sector);
  sector.writeUInt16LE(0xaa55, 510);
  return sector;
}

export function biosDisk(file: string, text: string): MachineDisk {
  const disk = Buffer.alloc(1024 * 1024);
  disk.set(bootSector(text));
  writeFileSync(file, disk);
  return { kind: 'image', file };
}

/** By default UEFI boots \EFI\BOOT\BOOTX64.EFI of a disk; GRUB reads its configuration from the same folder. */
export function uefiDisk(folder: string, grub: string, text: string): MachineDisk {
  for (const name of ['EFI/BOOT', 'grub']) mkdirSync(join(folder, name), { recursive: true });
  cpSync(grub, join(folder, 'EFI/BOOT/BOOTX64.EFI'), { dereference: true });
  writeFileSync(join(folder, 'grub/grub.cfg'), `echo ${text}\nsleep 300\n`);
  return { kind: 'folder', path: folder };
}
