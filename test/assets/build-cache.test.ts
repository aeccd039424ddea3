import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { buildOnce } from '../../appliance/assets/build-cache.ts';

let cache: string;
let place: string;
beforeEach(async () => {
  cache = await mkdtemp(join(tmpdir(), 'coldiron-build-cache-test-'));
  place = join(cache, 'thing');
});
afterEach(() => rm(cache, { recursive: true, force: true }));

describe('buildOnce', () => {
  it('lets one of many concurrent callers build, and leaves no other files', async () => {
    let builds = 0;
    const build = async (): Promise<void> => {
      builds += 1;
      await pause(50);
      await mkdir(place);
    };
    await Promise.all([1, 2, 3].map(() => buildOnce(place, build)));
    await buildOnce(place, build);
    expect(builds).toBe(1);
    expect(await readdir(cache)).toEqual(['thing']);
  });

  it('builds again after a failed build', async () => {
    const failing = buildOnce(place, () => Promise.reject(new Error('no space')));
    await expect(failing).rejects.toThrow('no space');
    await buildOnce(place, async () => void (await mkdir(place)));
    expect(await readdir(cache)).toEqual(['thing']);
  });

  it('does not wait for a builder that is no longer running', async () => {
    const gone = spawnSync(process.execPath, ['-e', '']).pid;
    await writeFile(`${place}.building`, String(gone));
    await buildOnce(place, async () => void (await mkdir(place)));
    expect(await readdir(cache)).toEqual(['thing']);
  });
});
