// Brings a built network installer of NixOS into the library: a folder with bzImage, initrd and netboot.ipxe, as
// `nix build .#netboot-installer` leaves it. Everything is checked before anything is copied.

import { readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { fileTypeOf } from '../../../assets/asset.ts';
import { sha256OfFile } from '../../../assets/checksums.ts';
import { type FileType, fileTypeInWords } from '../../../assets/file-type.ts';
import { type Placed, placeFile } from '../../../assets/place-file.ts';
import { readNetbootParameters } from '../../../boot/replies/netboot-script.ts';
import type { CpuArchitecture } from '../../../domain/architecture.ts';
import { ColdironError } from '../../../domain/errors.ts';
import type { ObjectName } from '../../../domain/names.ts';

export interface ImportedNetboot {
  readonly placed: readonly Placed[];
  readonly architecture: CpuArchitecture;
  /** What its kernel is told, `init=` among it. */
  readonly parameters: readonly string[];
}

/** The script is last: it names what is in the other two, and machines read it first. */
const FILES: readonly { readonly name: string; readonly kind: FileType['kind']; readonly words: string }[] = [
  { name: 'bzImage', kind: 'kernel', words: 'a Linux kernel' },
  { name: 'initrd', kind: 'initrd', words: 'an initrd' },
  { name: 'netboot.ipxe', kind: 'script', words: 'an iPXE script' },
];

/** For machines of these there are loaders and installers. */
const ARCHITECTURES: readonly CpuArchitecture[] = ['x86_64', 'arm64'];

/** Far above any real one. */
const LONGEST_SCRIPT = 64 * 1024;

/** `wanted`: what the machines of the profile are; null: whatever the kernel is for. */
export async function importNetboot(
  library: string,
  profile: ObjectName,
  from: string,
  wanted: CpuArchitecture | null,
): Promise<ImportedNetboot> {
  const problems: string[] = [];
  const found: (Found | null)[] = [];
  // One after the other, so that the problems are listed in the order of the files.
  for (const file of FILES) found.push(await look(from, file, problems));
  const architecture = architectureOf(found[0]?.type ?? null, wanted, problems);
  const parameters = await parametersOf(found[2]?.file ?? null, problems);
  if (problems.length > 0 || architecture === null || parameters === null) {
    throw new ColdironError('usage', `${from} is no network installer that can be served`, problems);
  }
  const placed: Placed[] = [];
  for (const { name, file } of found.flatMap((each) => each ?? [])) {
    const entry = {
      name: `nixos/${profile}/${name}`,
      firmware: null,
      architecture,
      licence: null,
      // Of the file as it is now: a copy that differs from it is not kept.
      source: { kind: 'url', url: pathToFileURL(file).href, sha256: await sha256OfFile(file) },
    } as const;
    placed.push(await placeFile(library, entry, { title: file }, file));
  }
  return { placed, architecture, parameters };
}

interface Found {
  readonly name: string;
  readonly file: string;
  readonly type: FileType;
}

async function look(
  from: string,
  { name, kind, words }: (typeof FILES)[number],
  problems: string[],
): Promise<Found | null> {
  try {
    // What Nix leaves are links into its store.
    const file = await realpath(join(from, name));
    const type = await fileTypeOf(file);
    if (type.kind === kind) return { name, file, type };
    problems.push(`${name}: must be ${words}, is ${fileTypeInWords(type)}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    problems.push(code === 'ENOENT' ? `${name}: is not there` : `${name}: cannot be read: ${message}`);
  }
  return null;
}

function architectureOf(
  type: FileType | null,
  wanted: CpuArchitecture | null,
  problems: string[],
): CpuArchitecture | null {
  if (type?.kind !== 'kernel') return null;
  const { cpu } = type;
  if (cpu === null || !ARCHITECTURES.includes(cpu)) {
    problems.push(`bzImage: is ${fileTypeInWords(type)}; there are installers for ${ARCHITECTURES.join(' and ')}`);
    return null;
  }
  if (wanted !== null && cpu !== wanted)
    problems.push(`bzImage: is ${fileTypeInWords(type)}, and must be for ${wanted}`);
  return cpu;
}

async function parametersOf(file: string | null, problems: string[]): Promise<readonly string[] | null> {
  if (file === null) return null;
  const text = await readFile(file, 'utf8');
  const parameters = text.length > LONGEST_SCRIPT ? null : readNetbootParameters(text);
  if (parameters?.ok) return parameters.value;
  problems.push(
    `netboot.ipxe: ${parameters === null ? `has ${text.length} characters, no script is that long` : parameters.reason}`,
  );
  return null;
}
