// Another user of the host plants links where an operator, as root, renders to.

import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeFolder } from '../../appliance/deliveries/write-folder.ts';
import { temporaryFolder } from '../assets/tiny-files.ts';

const MALLORY = 4242;

const FILES = [
  { path: 'configuration.nix', text: '{ }\n', mode: 0o644, secret: false },
  { path: 'secrets/key.pem', text: 'PRIVATE\n', mode: 0o600, secret: true },
];

const render = (folder: string, force = false) =>
  writeFolder({ folder, of: 'node node01', inventoryRevision: 1, files: [FILES], force });

function plantLink(path: string, target: string): void {
  symlinkSync(target, path);
  lchownSync(path, MALLORY, MALLORY);
}

/** A folder of root, with a file that must stay as it is. */
function outside(): string {
  const folder = join(temporaryFolder(), 'outside');
  mkdirSync(join(folder, 'empty'), { recursive: true });
  writeFileSync(join(folder, 'passwd'), 'root\n', { mode: 0o640 });
  return folder;
}

function expectUntouched(folder: string): void {
  expect(readdirSync(folder).sort()).toEqual(['empty', 'passwd']);
  expect(readFileSync(join(folder, 'passwd'), 'utf8')).toBe('root\n');
  expect(statSync(join(folder, 'passwd')).mode & 0o777).toBe(0o640);
}

describe('a folder to render to', () => {
  it('that is a link of another user is refused, and its target is not replaced', async () => {
    const [place, target] = [temporaryFolder(), outside()];
    chmodSync(place, 0o1777);
    plantLink(join(place, 'out'), target);
    await expect(render(join(place, 'out'))).rejects.toMatchObject({
      code: 'not_writable',
      message: expect.stringMatching(/out is a link of another user \(uid 4242\)/),
    });
    expectUntouched(target);
  });

  it.each<[what: string, prepare: (place: string) => void, reason: RegExp]>([
    ['that belongs to another user', (place) => chownSync(place, MALLORY, MALLORY), /belongs to another user/],
    ['that every user can write', (place) => chmodSync(place, 0o777), /can be written by every user/],
  ])('below one %s is refused: it could be replaced at any time', async (_what, prepare, reason) => {
    const place = join(temporaryFolder(), 'place');
    mkdirSync(place);
    prepare(place);
    await expect(render(join(place, 'out'))).rejects.toMatchObject({
      code: 'not_writable',
      message: expect.stringMatching(reason),
    });
    expect(readdirSync(place)).toEqual([]);
  });

  it.each(['secrets', 'configuration.nix'])('with a link at %s is not written through it', async (name) => {
    const [place, target] = [temporaryFolder(), outside()];
    const folder = join(place, 'out');
    mkdirSync(folder);
    plantLink(join(folder, name), target);
    await expect(render(folder)).rejects.toMatchObject({ code: 'conflict', details: [name] });
    await render(folder, true);
    expectUntouched(target);
    expect(lstatSync(join(folder, 'secrets')).isDirectory()).toBe(true);
    expect(lstatSync(join(folder, 'configuration.nix')).isFile()).toBe(true);
  });

  it.each<[what: string, plant: (path: string) => void]>([
    ['a pipe', (path) => spawnSync('mkfifo', [path])],
    ['a link to a device', (path) => plantLink(path, '/dev/zero')],
    ['a folder', (path) => mkdirSync(path)],
    ['a link to a file of root', (path) => plantLink(path, '/etc/shadow')],
  ])('whose record is %s is rendered or refused at once', async (_what, plant) => {
    const folder = join(temporaryFolder(), 'out');
    mkdirSync(folder);
    plant(join(folder, 'coldiron-rendering.json'));
    await render(folder).catch((error) => expect(error).toMatchObject({ code: 'conflict' }));
    if (existsSync(join(folder, 'configuration.nix')))
      expect(lstatSync(join(folder, 'coldiron-rendering.json')).isFile()).toBe(true);
  });

  it('is not taken from a leftover that another user made', async () => {
    const [place, target] = [temporaryFolder(), outside()];
    chmodSync(place, 0o1777);
    const [link, made] = ['.out.coldiron-old-0999999-aaaa', '.out.coldiron-old-0999998-bbbb'];
    plantLink(join(place, link), target);
    mkdirSync(join(place, made));
    writeFileSync(join(place, made, 'evil.nix'), 'evil');
    chownSync(join(place, made), MALLORY, MALLORY);
    await render(join(place, 'out'));
    expectUntouched(target);
    expect(readdirSync(join(place, 'out')).sort()).toEqual(['coldiron-rendering.json', 'configuration.nix', 'secrets']);
    expect(statSync(join(place, 'out')).uid).toBe(0);
  });
});
