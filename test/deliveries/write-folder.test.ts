import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeFolder } from '../../appliance/deliveries/write-folder.ts';
import type { RenderedFile } from '../../appliance/render/rendered-file.ts';

let place: string;
let folder: string;

beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'coldiron-folder-'));
  folder = join(place, 'node01');
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

const file = (path: string, text = `${path}\n`, mode = 0o644, secret = false): RenderedFile => ({
  path,
  text,
  mode,
  secret,
});
const write = (files: readonly RenderedFile[], force = false) =>
  writeFolder({ folder, of: 'node node01', inventoryRevision: 7, files: [files], force });
const read = (path: string): string => readFileSync(join(folder, path), 'utf8');
const modeOf = (path: string): string => (statSync(join(folder, path)).mode & 0o777).toString(8);

const linked = (path: string, to: string): void => {
  rmSync(join(folder, path), { force: true });
  symlinkSync(to, join(folder, path));
};

describe('a rendering on disk', () => {
  it('has the rendered contents, with modes independent of the umask, and records where it came from', async () => {
    const before = process.umask(0o077);
    try {
      await write([file('a.nix'), file('run.sh', '#!/bin/sh\n', 0o755), file('deep/er/b.txt')]);
    } finally {
      process.umask(before);
    }
    expect([read('a.nix'), read('deep/er/b.txt')]).toEqual(['a.nix\n', 'deep/er/b.txt\n']);
    expect(['', 'a.nix', 'run.sh', 'deep', 'deep/er'].map(modeOf)).toEqual(['755', '644', '755', '755', '755']);
    expect(JSON.parse(read('coldiron-rendering.json'))).toMatchObject({ of: 'node node01', inventory_revision: 7 });
    expect(readdirSync(place)).toEqual(['node01']);
  });

  it('creates links to its files, and removes them when they are no longer requested', async () => {
    const files = [file('flake/flake.nix'), file('extra/key', 'k', 0o600, true)];
    const request = { folder, of: 'node node01', inventoryRevision: 7, files: [files], force: false };
    const links = new Map([
      ['flake.nix', 'flake/flake.nix'],
      ['secrets', 'extra'],
    ]);
    await writeFolder({ ...request, links });
    await writeFolder({ ...request, links });
    expect([read('flake.nix'), read('secrets/key')]).toEqual(['flake/flake.nix\n', 'k']);
    await writeFolder(request);
    expect(readdirSync(folder).sort()).toEqual(['coldiron-rendering.json', 'extra', 'flake']);
  });

  it('does not replace a foreign file with a link', async () => {
    await write([file('flake/flake.nix')]);
    writeFileSync(join(folder, 'flake.nix'), 'mine');
    const links = new Map([['flake.nix', 'flake/flake.nix']]);
    const request = { folder, of: 'node node01', inventoryRevision: 7, files: [[file('flake/flake.nix')]], links };
    await expect(writeFolder({ ...request, force: false })).rejects.toMatchObject({ details: ['flake.nix'] });
    expect(read('flake.nix')).toBe('mine');
    await writeFolder({ ...request, force: true });
    expect(read('flake.nix')).toBe('flake/flake.nix\n');
  });

  it('hides the folder of secret files', async () => {
    const before = process.umask(0);
    try {
      await write([file('secrets/key.pem', 'k', 0o600, true), file('secrets/cert.pem'), file('plain/x')]);
    } finally {
      process.umask(before);
    }
    expect(['secrets', 'secrets/key.pem', 'secrets/cert.pem', 'plain'].map(modeOf)).toEqual([
      '700',
      '600',
      '644',
      '755',
    ]);
  });

  it('replaces the previous rendering as a whole: files that are no longer rendered are deleted', async () => {
    await write([file('a', '1'), file('old/gone', '1')]);
    await write([file('a', '2')]);
    expect(read('a')).toBe('2');
    expect(existsSync(join(folder, 'old'))).toBe(false);
  });

  it('keeps files that are not ours', async () => {
    await write([file('a', '1'), file('nodes/n/x')]);
    mkdirSync(join(folder, '.git/refs'), { recursive: true });
    writeFileSync(join(folder, '.git/refs/head'), 'ref');
    writeFileSync(join(folder, 'nodes/n/secrets.yaml'), 'sops', { mode: 0o600 });
    symlinkSync('/nowhere', join(folder, 'result'));
    await write([file('a', '2')]);
    expect([read('a'), read('.git/refs/head'), read('nodes/n/secrets.yaml')]).toEqual(['2', 'ref', 'sops']);
    expect(modeOf('nodes/n/secrets.yaml')).toBe('600');
    expect(readdirSync(folder).sort()).toEqual(['.git', 'a', 'coldiron-rendering.json', 'nodes', 'result']);
  });

  it.each([
    ['that was changed', () => writeFileSync(join(folder, 'a'), 'edited')],
    ['that was replaced by a link', () => linked('a', '/etc/hosts')],
    ['of a folder without a record', () => rmSync(join(folder, 'coldiron-rendering.json'))],
    ['of a folder whose record is empty', () => writeFileSync(join(folder, 'coldiron-rendering.json'), '{"files":1}')],
  ])('does not replace a file %s, unless forced', async (_which, change) => {
    await write([file('a', '1'), file('b', '1')]);
    change();
    const was = read('a');
    await expect(write([file('a', '2'), file('b', '2')])).rejects.toMatchObject({
      code: 'conflict',
      details: expect.arrayContaining(['a']),
    });
    expect([read('a'), read('b')]).toEqual([was, '1']);
    expect(readdirSync(place)).toEqual(['node01']);
    await write([file('a', '2'), file('b', '2')], true);
    expect([read('a'), read('b')]).toEqual(['2', '2']);
  });

  it('never writes through a link at the path of a file', async () => {
    const victim = join(place, 'victim');
    mkdirSync(victim);
    mkdirSync(folder);
    symlinkSync(victim, join(folder, 'secrets'));
    const key = file('secrets/key.pem', 'k', 0o600, true);
    await expect(write([key])).rejects.toMatchObject({ code: 'conflict', details: ['secrets'] });
    await write([key], true);
    expect(read('secrets/key.pem')).toBe('k');
    expect(readdirSync(victim)).toEqual([]);
  });

  it('does not replace a foreign folder with a file', async () => {
    mkdirSync(join(folder, 'a'), { recursive: true, mode: 0o700 });
    writeFileSync(join(folder, 'a/mine'), 'mine');
    await expect(write([file('a')])).rejects.toMatchObject({ code: 'conflict', details: ['a/mine'] });
    await write([file('b')]);
    expect([read('a/mine'), modeOf('a')]).toEqual(['mine', '700']);
  });

  it.each(['../x', '/etc/x', 'a/../../x', 'a//b', '.', 'coldiron-rendering.json', 'a\0b'])(
    'rejects a file called %j',
    async (path) => {
      await expect(write([file(path)])).rejects.toThrow('a rendering contains an invalid file name');
      expect(readdirSync(place)).toEqual([]);
    },
  );

  it('reports why nothing can be written', async () => {
    writeFileSync(join(place, 'plain'), '');
    folder = join(place, 'plain/node01');
    await expect(write([file('a')])).rejects.toMatchObject({
      code: 'not_writable',
      message: expect.stringContaining('a part of its path is a file'),
    });
  });

  it('writes the same bytes for the same rendering', async () => {
    await write([file('b'), file('a')]);
    const first = read('coldiron-rendering.json');
    await write([file('a'), file('b')]);
    expect(read('coldiron-rendering.json')).toBe(first);
  });
});

describe('a writer that is killed', () => {
  const SCRIPT = `
    const { writeFolder } = await import(${JSON.stringify(join(import.meta.dirname, '../../appliance/deliveries/write-folder.ts'))});
    const file = (path) => ({ path, text: 'new', mode: 0o644, secret: false });
    async function* files() {
      yield [file('a'), file('b')];
      process.stdout.write('half\\n');
      await new Promise((resolve) => setTimeout(resolve, 60_000));
      yield [file('c')];
    }
    await writeFolder({ folder: process.argv[1], of: 'node node01', inventoryRevision: 8, files: files(), force: false });
  `;

  async function killedMidway(): Promise<void> {
    const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT, '--', folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      await once(child.stdout, 'data');
    } finally {
      const exited = once(child, 'exit');
      child.kill('SIGKILL');
      await exited;
    }
  }

  it('leaves no folder if there was none, and the next writer cleans up', async () => {
    await killedMidway();
    expect(existsSync(folder)).toBe(false);
    expect(readdirSync(place)).toHaveLength(1);
    await write([file('a', '1')]);
    expect(readdirSync(place)).toEqual(['node01']);
  });

  it('leaves the previous rendering unchanged', async () => {
    await write([file('a', '1')]);
    await killedMidway();
    expect(readdirSync(folder).sort()).toEqual(['a', 'coldiron-rendering.json']);
    expect(read('a')).toBe('1');
  });

  it('between the two renames: the next writer restores the previous rendering', async () => {
    await write([file('a', '1')]);
    writeFileSync(join(folder, 'mine'), 'mine');
    chmodSync(folder, 0o750);
    const { renameSync } = await import('node:fs');
    renameSync(folder, join(place, `.node01.coldiron-old-${2 ** 22 + 1}-0000`));
    await write([file('a', '2')]);
    expect([read('a'), read('mine')]).toEqual(['2', 'mine']);
    expect(readdirSync(place)).toEqual(['node01']);
  });
});
