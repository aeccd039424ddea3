// Imports a built network installer of NixOS into the library: a folder with bzImage, initrd and netboot.ipxe, the
// result of `nix build .#netboot-installer`. Everything is checked before anything is copied.

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
  /** The parameters of its kernel, with `init=`. */
  readonly parameters: readonly string[];
}

/** The script is last: it refers to the other two, and machines read it first. */
const FILES: readonly { readonly name: string; readonly kind: FileType['kind']; readonly label: string }[] = [
  { name: 'bzImage', kind: 'kernel', label: 'a Linux kernel' },
  { name: 'initrd', kind: 'initrd', label: 'an initrd' },
  { name: 'netboot.ipxe', kind: 'script', label: 'an iPXE script' },
];

/** The architectures that have loaders and installers. */
const ARCHITECTURES: readonly CpuArchitecture[] = ['x86_64', 'arm64'];

/** Far longer than any real one. */
const LONGEST_SCRIPT = 64 * 1024;

/** `expected`: the architecture of the profile's machines; null: any. */
export async function importNetboot(
  library: string,
  profile: ObjectName,
  from: string,
  expected: CpuArchitecture | null,
): Promise<ImportedNetboot> {
  const problems: string[] = [];
  const files: (Found | null)[] = [];
  // One after the other, so that problems are listed in file order.
  for (const file of FILES) files.push(await look(from, file, problems));
  const architecture = architectureOf(files[0]?.type ?? null, expected, problems);
  const parameters = await parametersOf(files[2]?.file ?? null, problems);
  if (problems.length > 0 || architecture === null || parameters === null) {
    throw new ColdironError('usage', `${from} is not a usable network installer`, problems);
  }
  const placed: Placed[] = [];
  for (const { name, file } of files.flatMap((each) => each ?? [])) {
    const entry = {
      name: `nixos/${profile}/${name}`,
      firmware: null,
      architecture,
      licence: null,
      // The sha256 of the file now: a copy that differs is not kept.
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
  { name, kind, label }: (typeof FILES)[number],
  problems: string[],
): Promise<Found | null> {
  try {
    // The result of Nix is links into its store.
    const file = await realpath(join(from, name));
    const type = await fileTypeOf(file);
    if (type.kind === kind) return { name, file, type };
    problems.push(`${name}: must be ${label}, is ${fileTypeInWords(type)}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    problems.push(code === 'ENOENT' ? `${name}: does not exist` : `${name}: cannot be read: ${message}`);
  }
  return null;
}

function architectureOf(
  type: FileType | null,
  expected: CpuArchitecture | null,
  problems: string[],
): CpuArchitecture | null {
  if (type?.kind !== 'kernel') return null;
  const { cpu } = type;
  if (cpu === null || !ARCHITECTURES.includes(cpu)) {
    problems.push(`bzImage: is ${fileTypeInWords(type)}; there are installers for ${ARCHITECTURES.join(' and ')}`);
    return null;
  }
  if (expected !== null && cpu !== expected)
    problems.push(`bzImage: is ${fileTypeInWords(type)}, but must be for ${expected}`);
  return cpu;
}

async function parametersOf(file: string | null, problems: string[]): Promise<readonly string[] | null> {
  if (file === null) return null;
  const text = await readFile(file, 'utf8');
  const parameters = text.length > LONGEST_SCRIPT ? null : readNetbootParameters(text);
  if (parameters?.ok) return parameters.value;
  problems.push(
    `netboot.ipxe: ${parameters === null ? `has ${text.length} characters, which is too long for a script` : parameters.reason}`,
  );
  return null;
}
