import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { type ArchiveEntry, archivedFiles, cpioArchive } from '../../appliance/assets/cpio.ts';
import { needPackages } from '../interop/packages.ts';

const file = (path: string, bytes: Uint8Array, executable = false): ArchiveEntry => ({
  path,
  kind: 'file',
  bytes,
  executable,
});

/** Unpacks with GNU cpio. */
function unpacked<T>(archive: Buffer, look: (folder: string) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-cpio-'));
  try {
    const { status, stderr } = spawnSync('cpio', ['-i', '--quiet'], { cwd: folder, input: archive, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    return look(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe('cpioArchive', () => {
  beforeAll(() => needPackages(['cpio']));

  it('unpacks to the same folders, files and programs', () => {
    const archive = cpioArchive([
      { path: 'bin', kind: 'folder' },
      file('bin/tool', Buffer.from('#!/bin/sh\n'), true),
      file('notes', Buffer.from('text')),
    ]);
    unpacked(archive, (folder) => {
      expect(readFileSync(join(folder, 'bin/tool'), 'utf8')).toBe('#!/bin/sh\n');
      expect(statSync(join(folder, 'bin/tool')).mode & 0o777).toBe(0o755);
      expect(statSync(join(folder, 'notes')).mode & 0o777).toBe(0o644);
    });
  });

  it('stores any bytes under names of any length', () => {
    const entry = fc.record({
      name: fc.stringMatching(/^[a-z0-9._-]{1,40}$/),
      bytes: fc.uint8Array({ maxLength: 70 }),
    });
    const entries = fc
      .uniqueArray(entry, { selector: ({ name }) => name, minLength: 1, maxLength: 6 })
      .filter((list) => list.every(({ name }) => !['.', '..', 'folder'].includes(name)));
    fc.assert(
      fc.property(entries, (list) => {
        const archive = cpioArchive([
          { path: 'folder', kind: 'folder' },
          ...list.map(({ name, bytes }) => file(name, bytes)),
        ]);
        expect(archivedFiles(archive)).toEqual(list.map(({ name }) => name));
        unpacked(archive, (folder) => {
          for (const { name, bytes } of list) expect([...readFileSync(join(folder, name))]).toEqual([...bytes]);
        });
      }),
      { numRuns: 25 },
    );
  });
});
