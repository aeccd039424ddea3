// Against files that zstd(1) wrote.

import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { zstdContentBytes } from '../../appliance/assets/zstd-size.ts';
import { needPackages } from '../interop/packages.ts';
import { temporaryFolder } from './tiny-files.ts';

it.each([0, 1, 255, 256, 300, 65_535, 65_792, 70_000, 5_000_000])('reads the size %i of what zstd packed', (size) => {
  needPackages(['zstd']);
  const folder = temporaryFolder();
  const file = join(folder, 'disk.raw');
  writeFileSync(file, Buffer.alloc(size, 'x'));
  execFileSync('zstd', ['-q', file]);
  expect(zstdContentBytes(readFileSync(`${file}.zst`))).toBe(size);
});

it('says nothing about a stream of unknown size, or about another file', () => {
  needPackages(['zstd']);
  expect(zstdContentBytes(execFileSync('zstd', ['-q', '-c'], { input: 'hello' }))).toBeNull();
  expect(zstdContentBytes(Buffer.from('no zstd file'))).toBeNull();
  expect(zstdContentBytes(Buffer.from([0x28, 0xb5, 0x2f, 0xfd]))).toBeNull();
  expect(zstdContentBytes(Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0xe0, 1, 2]))).toBeNull();
});
