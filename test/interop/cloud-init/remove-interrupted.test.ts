// What an interrupted build of the Debian system leaves is removed, and nothing of the host with it.

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';

const ask = (program: string, ...args: string[]) => spawnSync(program, args, { encoding: 'utf8' });

it('removes an interrupted system with its mounts, and keeps finished ones and what was mounted', () => {
  const folder = mkdtempSync(join(tmpdir(), 'coldiron-interrupted-'));
  const [host, left, whole] = ['host', 'a.new', 'b'].map((name) => join(folder, name)) as [string, string, string];
  for (const place of [host, join(left, 'dev'), join(left, 'proc'), whole]) mkdirSync(place, { recursive: true });
  writeFileSync(join(host, 'device'), 'of the host');
  writeFileSync(join(left, 'file'), '');
  onTestFinished(() => {
    for (const place of ['dev/shm', 'dev', 'proc']) ask('umount', join(left, place));
    rmSync(folder, { recursive: true, force: true });
  });
  const mount = (...args: string[]) => expect(ask('mount', ...args).stderr).toBe('');
  mount('--bind', host, join(left, 'dev'));
  mkdirSync(join(left, 'dev/shm'));
  mount('-t', 'tmpfs', 'none', join(left, 'dev/shm'));
  mount('-t', 'proc', 'proc', join(left, 'proc'));

  const script = join(import.meta.dirname, 'remove-interrupted.sh');
  const run = ask('sh', script, folder);
  expect([run.status, run.stderr]).toEqual([0, '']);
  expect([existsSync(left), existsSync(whole)]).toEqual([false, true]);
  expect(readFileSync(join(host, 'device'), 'utf8')).toBe('of the host');
  expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(left);
});
