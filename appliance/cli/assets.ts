// The boot files of the appliance on this machine. They are in its state folder, so the verbs work while it is stopped too.

import { join } from 'node:path';
import { buildAssets, type Gathered } from '../assets/build.ts';
import { BUILT_IMAGES, builtImageNamed, placeImages } from '../assets/built-images.ts';
import { CLOUD_IMAGE_NAME } from '../assets/cloud-image/build.ts';
import { fetchAssets } from '../assets/fetch.ts';
import { AssetLibrary, extraManifest } from '../assets/library.ts';
import { type ManifestEntry, readManifests } from '../assets/manifest.ts';
import { type VerifiedLoader, verifyAssets } from '../assets/verify.ts';
import { suggestion } from '../documents/nearest-name.ts';
import { parseCpuArchitecture } from '../domain/architecture.ts';
import { ColdironError } from '../domain/errors.ts';
import { parseObjectName } from '../domain/names.ts';
import { importNetboot } from '../provisioning/installers/nixos/import-netboot.ts';
import { fromRunning } from './check-appliance.ts';
import { stateFolder } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, styled, table } from './terminal.ts';

interface AssetOptions {
  readonly config?: string;
  readonly state?: string;
  readonly json?: boolean;
}

const assetFolder = async (options: AssetOptions): Promise<string> => join(await stateFolder(options), 'assets');

/** Builds loaders and the service OS, which takes minutes the first time, and a Debian image when it is named. */
export async function buildBootFiles(names: readonly string[], options: AssetOptions): Promise<void> {
  const always = BUILT_IMAGES.filter(({ always }) => always).map(({ name }) => name);
  const images = names.length === 0 ? always : names.flatMap((name) => builtImageNamed(name) ?? []);
  const others = names.filter((name) => builtImageNamed(name) === null);
  const onlyImages = names.length > 0 && others.length === 0;
  await gather(others, options, onlyImages ? null : 'debian', buildAssets, images);
}

export const fetchBootFiles = (names: readonly string[], options: AssetOptions): Promise<void> =>
  gather(names, options, 'url', fetchAssets, []);

/** `kind`: which files of the manifest; null: none. */
async function gather(
  names: readonly string[],
  options: AssetOptions,
  kind: ManifestEntry['source']['kind'] | null,
  work: typeof buildAssets,
  images: readonly string[],
): Promise<void> {
  const folder = await assetFolder(options);
  const entries = kind === null ? [] : chosen(names, await manifestOf(folder), kind);
  const output = standardOutput();
  // Progress lines are for a person; --json prints one value at the end.
  const log = (line: string): void => {
    if (!options.json) output.write(`${line}\n`);
  };
  if (entries.length + images.length === 0)
    log('Nothing to do: extra.yaml in the assets folder declares no boot file with a URL.');
  const files: Gathered = entries.length === 0 ? { placed: [], failed: [] } : await work(folder, entries, log);
  const built = await placeImages(folder, images, log);
  const done = { placed: [...files.placed, ...built.placed], failed: [...files.failed, ...built.failed] };
  // Computes the checksums now, so that the appliance does not compute them when it starts.
  await AssetLibrary.open(folder);
  await tellAppliance(options);
  if (options.json) printJson(output, { folder, ...done });
  if (done.failed.length > 0) {
    const lines = done.failed.map(({ name, reason }) => `${name}: ${reason}`);
    throw new ColdironError(
      'service_unavailable',
      `${lines.length} of ${entries.length + images.length} boot files are missing`,
      lines,
    );
  }
  if (entries.length + images.length > 0) log(`${done.placed.length} boot files are in ${folder}.`);
  const debian = built.placed.find(({ name }) => name === CLOUD_IMAGE_NAME);
  if (debian)
    log(`A profile of kind cloud-image installs it with image: { source: ${debian.name}, sha256: ${debian.sha256} }`);
}

/** A running appliance serves the new files when this returns: the next command finds them. */
async function tellAppliance(options: AssetOptions): Promise<void> {
  const state = await stateFolder(options);
  await fromRunning({ state }, (appliance) => operate(appliance, 'checkBootContract', {}));
}

const manifestOf = async (folder: string): Promise<readonly ManifestEntry[]> =>
  readManifests(await extraManifest(folder));

function chosen(names: readonly string[], entries: readonly ManifestEntry[], kind: string): readonly ManifestEntry[] {
  const possible = entries.filter(({ source }) => source.kind === kind);
  const known = new Set(possible.map(({ name }) => name));
  const unknown = names.filter((name) => !known.has(name));
  if (unknown.length > 0) {
    const images = kind === 'debian' ? BUILT_IMAGES.map(({ name }) => name.replace(/^images\//, '')) : [];
    const lines = unknown.map((name) => `${name}: no such boot file${suggestion(name, [...known, ...images])}`);
    throw new ColdironError('usage', `the manifest does not have ${unknown.join(', ')}`, lines);
  }
  return names.length === 0 ? possible : possible.filter(({ name }) => names.includes(name));
}

export async function verifyBootFiles(options: AssetOptions): Promise<void> {
  const folder = await assetFolder(options);
  const verified = await verifyAssets(folder, await manifestOf(folder), await AssetLibrary.open(folder));
  const output = standardOutput();
  if (options.json) printJson(output, { folder, ...verified });
  else {
    output.write(`${verified.sound} boot files match their checksums.\n`);
    for (const loader of verified.loaders) output.write(`${provenance(loader)}\n`);
    for (const { file, what, architectures } of verified.missing) {
      output.write(styled(output, 'yellow', `${file} is missing: no ${what} for ${architectures.join(', ')}`));
      output.write('\n');
    }
  }
  if (verified.problems.length > 0) {
    throw new ColdironError('conflict', `${verified.problems.length} problems with boot files`, verified.problems);
  }
}

function provenance({ name, by, from }: VerifiedLoader): string {
  switch (by) {
    case 'listed':
      return `${name}: matches the manifest; source: ${from ?? 'not recorded'}`;
    case 'unlisted':
      return `${name}: unchanged since it came from ${from}; the manifest does not list this version`;
    case 'unknown':
      return `${name}: its source is not recorded, and the manifest does not list it`;
  }
}

export async function listBootFiles(options: AssetOptions): Promise<void> {
  const folder = await assetFolder(options);
  const library = await AssetLibrary.open(folder);
  const output = standardOutput();
  if (options.json) return printJson(output, { folder, assets: library.list(), problems: library.problems() });
  if (library.list().length === 0) output.write(`No boot files in ${folder} yet: coldiron assets build\n`);
  else {
    const rows = library
      .list()
      .map(({ name, kind, architecture, size, sha256 }) => [
        name,
        kind,
        architecture ?? '-',
        String(size),
        sha256.slice(0, 16),
      ]);
    output.write(table(output, ['NAME', 'KIND', 'FOR', 'BYTES', 'SHA256'], rows));
  }
  for (const problem of library.problems()) output.write(`not served: ${problem}\n`);
}

/** `profile`: the machines that boot it; `arch`: the processor that its kernel must be built for. */
export async function importNixosInstaller(
  profile: string,
  from: string,
  options: AssetOptions & { readonly arch?: string },
): Promise<void> {
  const name = parseObjectName(profile);
  if (!name.ok) throw new ColdironError('usage', `the profile: ${name.reason}`);
  const required = options.arch === undefined ? null : parseCpuArchitecture(options.arch);
  if (required?.ok === false) throw new ColdironError('usage', `--arch: ${required.reason}`);
  const folder = await assetFolder(options);
  const { placed, architecture, parameters } = await importNetboot(folder, name.value, from, required?.value ?? null);
  await AssetLibrary.open(folder);
  await tellAppliance(options);
  const output = standardOutput();
  if (options.json) return printJson(output, { folder, architecture, parameters, placed });
  for (const { name, sha256, unchanged } of placed) {
    output.write(`${name}: ${unchanged ? 'unchanged' : 'imported'}, sha256 ${sha256}\n`);
  }
  output.write(`Machines with profile ${profile} boot this installer (${architecture}).\n`);
}
