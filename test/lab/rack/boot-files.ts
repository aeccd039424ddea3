// The boot files for rack tests: the loaders that `coldiron assets build` makes, and the reporter instead of
// the service OS. Built once per host; later runs use the cache.

import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { buildCache, buildOnce, openBuildCache, publish } from '../../../appliance/assets/build-cache.ts';
import { readManifests } from '../../../appliance/assets/manifest.ts';
import { buildReporters } from '../../../appliance/lab/rack/reporter.ts';
import { coldiron, ROOT } from '../../process/appliance.ts';

const say = (line: string): void => void process.stderr.write(`rack: ${line}\n`);

export async function putBootFiles(state: string): Promise<void> {
  await putLoaders(state);
  const reporters = await buildReporters(['amd64', 'arm64'], { say });
  for (const [architecture, debian] of [
    ['x86_64', 'amd64'],
    ['arm64', 'arm64'],
  ] as const) {
    const reporter = reporters.get(debian);
    if (!reporter) throw new Error(`no reporter for ${debian}`);
    const folder = join(state, `assets/images/service-os-${architecture}`);
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    symlinkSync(reporter.kernel, join(folder, 'kernel'));
    symlinkSync(reporter.initrd, join(folder, 'initrd'));
  }
}

/** Everything that the manifest names. */
export async function putLoaders(state: string): Promise<void> {
  const assets = join(state, 'assets');
  mkdirSync(assets, { recursive: true, mode: 0o700 });
  symlinkSync(join(await builtLoaders(), 'assets', 'loader'), join(assets, 'loader'));
}

async function builtLoaders(): Promise<string> {
  const cache = buildCache('loaders');
  const place = join(cache, recipe());
  await openBuildCache(cache);
  await buildOnce(place, async () => {
    const scratch = mkdtempSync(join(cache, '.build-'));
    try {
      say('building the loaders');
      const packaged = (await readManifests(null)).filter(({ source }) => source.kind === 'debian');
      const names = packaged.map(({ name }) => name);
      const built = coldiron(['assets', 'build', ...names, '--state', scratch]);
      if (built.status !== 0) throw new Error(`coldiron assets build: ${built.stderr}${built.stdout}`);
      await publish(scratch, place);
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
  return place;
}

/** Hash of the inputs and of the code that builds them: a cached build of an older version would hide that this one fails. */
function recipe(): string {
  const hash = createHash('sha256').update(readFileSync(join(ROOT, 'boot-assets/manifest.yaml')));
  const sources = join(ROOT, 'appliance/assets');
  const files = readdirSync(sources, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  for (const file of files.map(({ parentPath, name }) => join(parentPath, name)).sort()) {
    hash.update(`\n${file.slice(sources.length)}\n`).update(readFileSync(file));
  }
  return hash.digest('hex').slice(0, 16);
}
