// Another user of the host plants links, pipes and files of his own where the appliance, as root, keeps its state.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ensureAdminToken } from '../../appliance/api/admin-token.ts';
import { secureStateFolder } from '../../appliance/assembly/state-folder.ts';
import { assetFile } from '../../appliance/assets/asset-name.ts';
import { AssetLibrary } from '../../appliance/assets/library.ts';
import type { ManifestEntry } from '../../appliance/assets/manifest.ts';
import { placeFile } from '../../appliance/assets/place-file.ts';
import { openKeyFolder } from '../../appliance/identity/key-folder.ts';
import { readPrivately } from '../../appliance/identity/vault/private-file.ts';
import { loadVaultKeys, newKeyText } from '../../appliance/identity/vault/vault-keys.ts';
import { withWorkFolder } from '../../appliance/provisioning/installers/nixos/work-folder.ts';
import { openSqliteStore } from '../../appliance/store/sqlite/sqlite.ts';
import { PE_MACHINE, peFile, temporaryFolder } from '../assets/tiny-files.ts';
import { SiteFolder } from '../process/appliance.ts';

const MALLORY = 4242;
const LOG = { warn: () => undefined };
const TOKEN = `ci_0123456789ab_${'A'.repeat(43)}\n`;

function state(): string {
  const folder = join(temporaryFolder(), 'state');
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/** A file of root that Mallory would like to have changed or read. */
function victim(content = 'root only\n'): string {
  const file = join(temporaryFolder(), 'victim');
  writeFileSync(file, content, { mode: 0o640 });
  return file;
}

function plantLink(path: string, target: string): void {
  symlinkSync(target, path);
  lchownSync(path, MALLORY, MALLORY);
}

function plantFile(path: string, content: string): void {
  writeFileSync(path, content, { mode: 0o600 });
  chownSync(path, MALLORY, MALLORY);
}

function plantPipe(path: string): void {
  expect(spawnSync('mkfifo', ['-m', '0600', path]).status).toBe(0);
}

const untouched = (file: string): { content: string; mode: number } => ({
  content: readFileSync(file, 'utf8'),
  mode: statSync(file).mode & 0o777,
});
const ROOT_ONLY = { content: 'root only\n', mode: 0o640 };

describe('a state folder', () => {
  it.each<[what: string, plant: (folder: string) => string, reason: RegExp]>([
    [
      'below a folder of another user',
      (folder) => {
        const home = join(folder, 'home');
        mkdirSync(join(home, 'state'), { recursive: true, mode: 0o700 });
        chownSync(home, MALLORY, MALLORY);
        return join(home, 'state');
      },
      /home belongs to another user \(uid 4242\)/,
    ],
    [
      'below a folder that every user can write',
      (folder) => {
        mkdirSync(join(folder, 'open', 'state'), { recursive: true });
        chmodSync(join(folder, 'open'), 0o777);
        return join(folder, 'open', 'state');
      },
      /open can be written by every user/,
    ],
    [
      'that is a link of another user',
      (folder) => {
        mkdirSync(join(folder, 'etc'));
        plantLink(join(folder, 'state'), join(folder, 'etc'));
        return join(folder, 'state');
      },
      /state is a link of another user/,
    ],
    [
      'behind a chain of links, one of which is of another user',
      (folder) => {
        mkdirSync(join(folder, 'real'));
        plantLink(join(folder, 'second'), './real/../real');
        symlinkSync(join(folder, 'second'), join(folder, 'state'));
        return join(folder, 'state');
      },
      /second is a link of another user/,
    ],
    [
      'that belongs to another user',
      (folder) => {
        mkdirSync(join(folder, 'state'));
        chownSync(join(folder, 'state'), MALLORY, MALLORY);
        return join(folder, 'state');
      },
      /state belongs to another user/,
    ],
  ])('%s is not used, and nothing in it is changed', async (_what, plant, reason) => {
    const folder = plant(temporaryFolder());
    const before = statSync(folder).mode;
    await expect(secureStateFolder(folder, LOG)).rejects.toMatchObject({
      code: 'invalid_config',
      message: expect.stringMatching(reason),
    });
    expect(statSync(folder).mode).toBe(before);
  });

  it.each<[what: string, plant: (folder: string) => void, reason: RegExp]>([
    ['a link of another user', (folder) => plantLink(join(folder, 'ca'), '/etc'), /ca is a link of another user/],
    ['a file of another user', (folder) => plantFile(join(folder, 'vault-key'), 'x'), /vault-key belongs to another/],
    ['a pipe', (folder) => plantPipe(join(folder, 'inventory-in-force')), /inventory-in-force is a pipe or a device/],
    [
      'a link of another user far below',
      (folder) => {
        mkdirSync(join(folder, 'assets/images/debian'), { recursive: true });
        plantLink(join(folder, 'assets/images/debian/disk'), '/etc/shadow');
      },
      /disk is a link of another user/,
    ],
  ])('with %s in it is not used', async (_what, plant, reason) => {
    const folder = state();
    plant(folder);
    await expect(secureStateFolder(folder, LOG)).rejects.toMatchObject({
      code: 'invalid_config',
      details: [expect.stringMatching(reason)],
    });
  });

  it('with links of its own user or of root is used', async () => {
    const folder = state();
    mkdirSync(join(folder, 'assets'));
    symlinkSync('/usr/share', join(folder, 'assets', 'share'));
    await secureStateFolder(folder, LOG);
    symlinkSync(folder, join(temporaryFolder(), 'link'));
  });

  it('of another user ends `coldiron serve` with the reason, before anything is written', () => {
    const site = new SiteFolder('state: state\n');
    try {
      mkdirSync(site.state);
      chownSync(site.state, MALLORY, MALLORY);
      const { status, stderr } = site.run('serve');
      expect(stderr).toContain('belongs to another user (uid 4242)');
      expect(status).toBe(3);
      expect(existsSync(join(site.state, 'coldiron.db'))).toBe(false);
    } finally {
      site.remove();
    }
  });
});

describe('a secret file', () => {
  it('that another user wrote is not taken as the key of the vault', async () => {
    const folder = state();
    plantFile(join(folder, 'vault-key'), `${newKeyText()}\n`);
    await expect(loadVaultKeys(folder, undefined)).rejects.toThrow(/vault-key belongs to another user/);
  });

  it('that another user wrote is not taken as the first admin token', async () => {
    const folder = state();
    const store = await openSqliteStore({ file: join(folder, 'coldiron.db') });
    try {
      const own = join(temporaryFolder(), 'own-token');
      plantFile(own, TOKEN);
      plantLink(join(folder, 'admin-token'), own);
      await expect(ensureAdminToken(store, folder, { now: () => 1 })).rejects.toMatchObject({ code: 'conflict' });
      expect(await store.tokens()).toEqual([]);
    } finally {
      await store.close();
    }
  });

  it.each<[what: string, plant: (path: string) => void, reason: RegExp]>([
    ['a link of another user', (path) => plantLink(path, victim()), /is a link of another user/],
    ['a pipe without a writer', plantPipe, /is not a file/],
    ['a folder', (path) => mkdirSync(path), /is not a file/],
    ['a circle of links', (path) => symlinkSync(path, path), /cannot be read/],
    ['a device', (path) => spawnSync('mknod', ['-m', '0600', path, 'c', '1', '5']), /is not a file/],
  ])('that is %s is refused at once', async (_what, plant, reason) => {
    const path = join(state(), 'secret');
    plant(path);
    expect(await readPrivately(path, 'nobody')).toEqual({ kind: 'refused', reason: expect.stringMatching(reason) });
  });
});

describe('a folder of keys', () => {
  it('that is a link of another user is not used, and its target keeps its mode', async () => {
    const [folder, outside] = [state(), join(temporaryFolder(), 'outside')];
    mkdirSync(outside);
    chmodSync(outside, 0o755);
    plantLink(join(folder, 'ca'), outside);
    await expect(openKeyFolder(join(folder, 'ca'), null)).rejects.toMatchObject({
      code: 'authority_unavailable',
      message: expect.stringMatching(/ca is a link of another user/),
    });
    expect(statSync(outside).mode & 0o777).toBe(0o755);
  });

  it('of a push that is a link of another user gets no key', async () => {
    const [folder, outside] = [state(), temporaryFolder()];
    plantLink(join(folder, 'pushes'), outside);
    const work = withWorkFolder(join(folder, 'pushes'), async () => expect.unreachable());
    await expect(work).rejects.toThrow(/pushes is a link of another user/);
  });
});

describe('the database', () => {
  it.each(['coldiron.db', 'coldiron.db-wal', 'coldiron.db-shm'])(
    'does not open or change a file behind a link of another user at %s',
    async (name) => {
      const folder = state();
      await (await openSqliteStore({ file: join(folder, 'coldiron.db') })).close();
      const target = victim();
      spawnSync('rm', ['-f', join(folder, name)]);
      plantLink(join(folder, name), target);
      await expect(openSqliteStore({ file: join(folder, 'coldiron.db') })).rejects.toMatchObject({
        code: 'store_unavailable',
        message: expect.stringMatching(/is a link of another user/),
      });
      expect(untouched(target)).toEqual(ROOT_ONLY);
    },
  );

  it('is not a pipe or a file of another user', async () => {
    const folder = state();
    plantPipe(join(folder, 'coldiron.db'));
    await expect(openSqliteStore({ file: join(folder, 'coldiron.db') })).rejects.toThrow('is not a file');
    plantFile(join(folder, 'other.db'), '');
    await expect(openSqliteStore({ file: join(folder, 'other.db') })).rejects.toThrow('belongs to another user');
  });

  it('does not change the mode of a file that also has another name', async () => {
    const [folder, target] = [state(), victim()];
    await (await openSqliteStore({ file: join(folder, 'coldiron.db') })).close();
    linkSync(target, join(folder, 'coldiron.db-shm'));
    await expect(openSqliteStore({ file: join(folder, 'coldiron.db') })).rejects.toThrow('has another name');
    expect(untouched(target)).toEqual(ROOT_ONLY);
  });
});

describe('the library of boot files', () => {
  const ENTRY: ManifestEntry = {
    name: 'snponly.efi',
    firmware: 'efi',
    architecture: 'x86_64',
    licence: null,
    source: { kind: 'debian', package: 'ipxe', architecture: null, path: '/usr/lib/ipxe/snponly.efi' },
  };

  it.each(['loader/.snponly.efi.new', 'origins.json.new'])('does not write through a link at %s', async (name) => {
    const [folder, target] = [temporaryFolder(), victim()];
    const download = join(temporaryFolder(), 'download');
    writeFileSync(download, peFile(PE_MACHINE.x86_64));
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    symlinkSync(target, join(folder, name));
    await placeFile(folder, ENTRY, { title: 'here' }, download);
    expect(untouched(target)).toEqual(ROOT_ONLY);
    expect(existsSync(assetFile(folder, 'snponly.efi'))).toBe(true);
  });

  it('does not write its checksums through a link', async () => {
    const [folder, target] = [temporaryFolder(), victim()];
    mkdirSync(join(folder, 'images'));
    writeFileSync(join(folder, 'images', 'disk'), 'a disk');
    symlinkSync(target, join(folder, 'index.json.new'));
    await AssetLibrary.open(folder);
    expect(untouched(target)).toEqual(ROOT_ONLY);
    expect(lstatSync(join(folder, 'index.json')).isFile()).toBe(true);
  });

  it('does not serve what a link of another user leads to', async () => {
    const [folder, secret] = [temporaryFolder(), victim()];
    mkdirSync(join(folder, 'images', 'debian'), { recursive: true });
    plantLink(join(folder, 'images', 'debian', 'disk'), secret);
    plantLink(join(folder, 'images', 'etc'), '/etc');
    symlinkSync(victim('public\n'), join(folder, 'images', 'debian', 'ours'));
    const library = await AssetLibrary.open(folder);
    expect(library.list().map(({ name }) => name)).toEqual(['images/debian/ours']);
    expect(library.problems()).toEqual([
      expect.stringContaining('images/debian/disk: '),
      expect.stringContaining('images/etc: '),
    ]);
  });

  it('does not wait for a pipe in place of its index', async () => {
    const folder = temporaryFolder();
    mkdirSync(join(folder, 'images'));
    for (const name of ['index.json', 'origins.json', 'extra.yaml']) plantPipe(join(folder, name));
    expect((await AssetLibrary.open(folder)).list()).toEqual([]);
  });
});
