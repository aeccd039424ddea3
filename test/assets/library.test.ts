import { createHash } from 'node:crypto';
import { readFileSync, renameSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import { bzImage, PE_MACHINE, peFile, put, pxeProgram, temporaryFolder } from './tiny-files.ts';

const sha256 = (bytes: Uint8Array | string) => createHash('sha256').update(bytes).digest('hex');

describe('the asset library', () => {
  it('is empty, without an error, before anything is built', async () => {
    const library = await AssetLibrary.open(join(temporaryFolder(), 'assets'));
    expect(library.list()).toEqual([]);
    expect(library.find('ipxe.efi')).toBeNull();
    expect(library.problems()).toEqual([]);
  });

  it('finds loaders by their advertised name, with size, checksum and architecture', async () => {
    const folder = temporaryFolder();
    const bytes = peFile(PE_MACHINE.x86_64);
    const file = put(folder, 'loader/snponly.efi', bytes);
    put(folder, 'loader/undionly.kpxe', pxeProgram());
    const library = await AssetLibrary.open(folder);
    expect(library.find('snponly.efi')).toEqual({
      name: 'snponly.efi',
      file,
      size: bytes.length,
      sha256: sha256(bytes),
      kind: 'efi',
      architecture: 'x86_64',
      contentType: 'application/efi',
    });
    expect(library.find('undionly.kpxe')).toMatchObject({ kind: 'bios', architecture: 'x86_64' });
  });

  it('includes files that a site puts below nixos/ and images/, also links into the Nix store', async () => {
    const folder = temporaryFolder();
    const store = put(temporaryFolder(), 'bzImage', bzImage(1));
    put(folder, 'nixos/worker/initrd', Buffer.from('070701'));
    symlinkSync(store, join(folder, 'nixos/worker/bzImage'));
    put(folder, 'images/debian/disk.raw', 'whatever');
    put(folder, 'images/debian/.disk.raw.new', 'half of it');
    const library = await AssetLibrary.open(folder);
    expect(library.list().map(({ name, kind }) => `${name} ${kind}`)).toEqual([
      'nixos/worker/bzImage kernel',
      'nixos/worker/initrd initrd',
      'images/debian/disk.raw disk',
    ]);
    expect(library.find('nixos/worker/bzImage')?.architecture).toBe('x86_64');
  });

  it('does not find files by path, by a name outside the manifest, or by a name with invalid characters', async () => {
    const folder = temporaryFolder();
    put(folder, 'loader/snponly.efi', peFile(PE_MACHINE.x86_64));
    put(folder, 'loader/secret.efi', peFile(PE_MACHINE.x86_64));
    put(folder, 'images/debian/a b', 'x');
    const library = await AssetLibrary.open(folder);
    for (const name of [
      'loader/snponly.efi',
      '../snponly.efi',
      '/snponly.efi',
      'secret.efi',
      'images/debian/a b',
      '',
    ]) {
      expect(library.find(name)).toBeNull();
    }
    expect(library.problems()).toEqual([expect.stringContaining('images/debian/a b: not the name of a boot file')]);
  });

  it('does not serve a loader for another architecture, and says what the file is', async () => {
    const folder = temporaryFolder();
    put(folder, 'loader/snponly.efi', peFile(PE_MACHINE.arm64));
    put(folder, 'loader/undionly.kpxe', peFile(PE_MACHINE.x86_64));
    const library = await AssetLibrary.open(folder);
    expect(library.list()).toEqual([]);
    expect(library.problems()).toEqual([
      'undionly.kpxe: must be a network boot program for BIOS, is an EFI program for x86_64',
      'snponly.efi: must be an EFI program for x86_64, is an EFI program for arm64',
    ]);
  });

  it('uses the indexed checksum while size, time and inode are unchanged, and hashes the file again otherwise', async () => {
    const folder = temporaryFolder();
    const file = put(folder, 'images/a/disk', 'one');
    const stamp = statSync(file);
    await AssetLibrary.open(folder);
    const index = join(folder, 'index.json');
    const written = statSync(index, { bigint: true }).mtimeNs;
    // A checksum that can only come from the index proves that the file was not read.
    const planted = 'f'.repeat(64);
    writeFileSync(index, readFileSync(index, 'utf8').replace(sha256('one'), planted));
    const library = await AssetLibrary.open(folder);
    expect(library.find('images/a/disk')?.sha256).toBe(planted);

    put(folder, 'images/a/new', 'two');
    utimesSync(join(folder, 'images/a/new'), stamp.atime, stamp.mtime);
    renameSync(join(folder, 'images/a/new'), file);
    await library.reload();
    expect(library.find('images/a/disk')?.sha256).toBe(sha256('two'));
    expect(statSync(index, { bigint: true }).mtimeNs).not.toBe(written);
  });

  it('rebuilds a damaged index', async () => {
    const folder = temporaryFolder();
    put(folder, 'images/a/disk', 'one');
    for (const damage of [
      '',
      '{',
      '[]',
      '{"version":1}',
      '{"version":1,"files":{"images/a/disk":{"stamp":1}}}',
      'null',
    ]) {
      put(folder, 'index.json', damage);
      expect((await AssetLibrary.open(folder)).find('images/a/disk')?.sha256).toBe(sha256('one'));
    }
  });

  it('keeps the previous contents when a reload fails, and suggests a similar name', async () => {
    const folder = temporaryFolder();
    put(folder, 'loader/snponly.efi', peFile(PE_MACHINE.x86_64));
    const library = await AssetLibrary.open(folder);
    put(folder, 'extra.yaml', 'loaders: 7');
    await expect(library.reload()).rejects.toMatchObject({ code: 'invalid_config' });
    expect(library.find('snponly.efi')).not.toBeNull();
    expect(library.suggestionFor('snponly.ef')).toBe(' (did you mean snponly.efi?)');
    put(folder, 'extra.yaml', '{}');
    await library.reload();
    expect(library.find('snponly.efi')).not.toBeNull();
  });
});
