// The smallest disk image that can be installed: a boot sector that prints a word on the serial line, and one
// partition with an ext4 file system that contains an os-release file.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bootCode } from './marked-disks.ts';

export const BOOTED = 'the tiny image has started';
const MEBIBYTE = 1024 * 1024;

/** What it prints. */
export function output(command: string, args: readonly string[], input = ''): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { input, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command}: ${stderr || error?.message}`);
  return stdout;
}

/** Start of the root file system. */
export const ROOT_AT = 5 * MEBIBYTE;

/** 24 MiB: an EFI system partition with a placeholder loader, and the root. */
export function tinyImage(): Buffer {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-image-'));
  try {
    const disk = join(folder, 'disk');
    const root = join(folder, 'root');
    const tree = join(folder, 'tree');
    const efi = join(folder, 'efi');
    mkdirSync(join(tree, 'etc'), { recursive: true });
    writeFileSync(join(tree, 'etc/os-release'), 'ID=tiny\n');
    writeFileSync(root, '');
    truncateSync(root, 16 * MEBIBYTE);
    output('mke2fs', ['-q', '-t', 'ext4', '-L', 'tiny', '-d', tree, root]);
    writeFileSync(disk, '');
    truncateSync(disk, 24 * MEBIBYTE);
    const table = `label: gpt\nstart=2048, size=8192, type=U\nstart=${ROOT_AT / 512}, size=${(16 * MEBIBYTE) / 512}\n`;
    output('sfdisk', ['--quiet', disk], table);
    writeFileSync(efi, '');
    truncateSync(efi, 4 * MEBIBYTE);
    output('mformat', ['-i', efi, '::']);
    output('mmd', ['-i', efi, '::/EFI', '::/EFI/BOOT']);
    output('mcopy', ['-i', efi, join(tree, 'etc/os-release'), '::/EFI/BOOT/BOOTX64.EFI']);
    const image = readFileSync(disk);
    readFileSync(efi).copy(image, MEBIBYTE);
    readFileSync(root).copy(image, ROOT_AT);
    bootCode(BOOTED).copy(image, 0);
    return image;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
