// What the appliance of a rack test serves: the loaders that `coldiron assets build` makes, and the reporter in the place of
// the service OS. Made once per machine; later runs take no time.

import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import { buildReporters } from '../../appliance/rack/reporter.ts';
import { coldiron, ROOT } from '../process/appliance.ts';

const say = (line: string): void => void process.stderr.write(`rack: ${line}\n`);

export async function putBootFiles(state: string): Promise<void> {
  const assets = join(state, 'assets');
  mkdirSync(join(assets, 'images'), { recursive: true, mode: 0o700 });
  symlinkSync(join(builtLoaders(), 'assets', 'loader'), join(assets, 'loader'));
  const reporters = await buildReporters(['amd64', 'arm64'], { say });
  for (const [architecture, debian] of [
    ['x86_64', 'amd64'],
    ['arm64', 'arm64'],
  ] as const) {
    const reporter = reporters.get(debian);
    if (!reporter) throw new Error(`no reporter for ${debian}`);
    const folder = join(assets, `images/service-os-${architecture}`);
    mkdirSync(folder);
    symlinkSync(reporter.kernel, join(folder, 'kernel'));
    symlinkSync(reporter.initrd, join(folder, 'initrd'));
  }
}

/** Kept by what the manifest says, so that a changed manifest is built again. */
function builtLoaders(): string {
  const recipe = createHash('sha256')
    .update(readFileSync(join(ROOT, 'boot-assets/manifest.yaml')))
    .digest('hex');
  const cache = join(tmpdir(), `coldiron-loaders-${userInfo().uid}`);
  const place = join(cache, recipe.slice(0, 16));
  if (existsSync(place)) return place;
  mkdirSync(cache, { recursive: true, mode: 0o700 });
  const scratch = mkdtempSync(join(cache, '.build-'));
  try {
    say('building the loaders');
    const built = coldiron(['assets', 'build', '--state', scratch]);
    if (built.status !== 0) throw new Error(`coldiron assets build: ${built.stderr}${built.stdout}`);
    renameSync(scratch, place);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
  return place;
}
