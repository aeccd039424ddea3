// Archives through GNU tar.

import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ustarArchive } from '../../../../appliance/provisioning/installers/nixos/ustar.ts';
import type { RenderedFile } from '../../../../appliance/render/rendered-file.ts';
import { put, temporaryFolder } from '../../../assets/tiny-files.ts';

const file = (path: string, text = '', mode = 0o644): RenderedFile => ({ path, text, mode, secret: false });

function tar(args: readonly string[], archive: Buffer): string {
  const { status, stdout, stderr } = spawnSync('tar', args, {
    input: archive,
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC' },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout;
}

describe('an archive', () => {
  it('lists folders before their files, all owned by root and without a time', () => {
    const archive = ustarArchive([
      file('etc/nixos/secrets/key.pem', 'k', 0o600),
      file('flake.nix', '{ }\n'),
      file('etc/motd', 'hello'),
    ]);
    expect(
      tar(['-tv', '--full-time', '-f', '-'], archive)
        .trim()
        .split('\n')
        .map((line) => line.replace(/ +/g, ' ')),
    ).toEqual([
      'drwxr-xr-x root/root 0 1970-01-01 00:00:00 etc/',
      '-rw-r--r-- root/root 5 1970-01-01 00:00:00 etc/motd',
      'drwxr-xr-x root/root 0 1970-01-01 00:00:00 etc/nixos/',
      'drwx------ root/root 0 1970-01-01 00:00:00 etc/nixos/secrets/',
      '-rw------- root/root 1 1970-01-01 00:00:00 etc/nixos/secrets/key.pem',
      '-rw-r--r-- root/root 4 1970-01-01 00:00:00 flake.nix',
    ]);
  });

  it('has the same bytes for any order of the files', () => {
    const files = ['b/c', 'a', 'b/a', 'z/y/x'].map((path) => file(path, path));
    expect(ustarArchive([...files].reverse())).toEqual(ustarArchive(files));
  });

  it('restores the packed files, also long paths and text in any language', () => {
    const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,30}$/);
    const path = fc.array(name, { minLength: 1, maxLength: 6 }).map((segments) => `${segments.join('/')}.nix`);
    const anyFiles = fc.uniqueArray(fc.tuple(path, fc.string({ unit: 'grapheme', maxLength: 1500 })), {
      selector: ([where]) => where,
      minLength: 1,
      maxLength: 5,
    });
    const folder = temporaryFolder();
    let round = 0;
    fc.assert(
      fc.property(anyFiles, (packed) => {
        round += 1;
        const target = join(folder, String(round));
        put(target, '.here', '');
        tar(['-x', '-C', target, '-f', '-'], ustarArchive(packed.map(([where, text]) => file(where, text))));
        for (const [where, text] of packed)
          expect(readFileSync(join(target, where), 'utf8')).toBe(Buffer.from(text).toString('utf8'));
      }),
      { numRuns: 25 },
    );
  });

  it.each(['/etc/passwd', '../x', 'a/../b', 'a//b', './a', '', 'a\0b', `${'d'.repeat(120)}/${'f'.repeat(101)}`])(
    'rejects the path %j',
    (path) => {
      expect(() => ustarArchive([file(path)])).toThrow(/not a path below|too long/);
    },
  );

  it('rejects two files with one path, and a file with the path of a folder', () => {
    expect(() => ustarArchive([file('a'), file('a')])).toThrow('two files have the path a');
    expect(() => ustarArchive([file('a/b'), file('a')])).toThrow('two files have the path a');
  });
});
