// The programs that a push needs: Nix with flakes as nixos-anywhere uses it, and nixos-anywhere. Most appliances have neither.

import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { SECOND } from '../../../domain/instant.ts';
import { type Parsed, parsed, shown, unparsable } from '../../../domain/parsed.ts';

export interface PushTools {
  readonly nixosAnywhere: string;
  readonly nixVersion: string;
}

/** `nix config show`, which nixos-anywhere calls, does not exist in older ones. */
const OLDEST_NIX = [2, 16] as const;
const ANSWERS_WITHIN = 10 * SECOND;

/** `path` as in PATH. The reason lists everything that is missing. */
export async function probePushTools(path: string): Promise<Parsed<PushTools>> {
  const [nixosAnywhere, ssh, nix] = await Promise.all(
    ['nixos-anywhere', 'ssh', 'nix'].map((name) => findProgram(name, path)),
  );
  const version = nix ? await nixVersionOf(nix) : null;
  const missing = [
    ...(nix ? [] : ['nix is not on its PATH']),
    ...(version !== null && !version.ok ? [version.reason] : []),
    ...(nixosAnywhere ? [] : ['nixos-anywhere is not on its PATH']),
    ...(ssh ? [] : ['ssh is not on its PATH']),
  ];
  if (missing.length > 0 || !nixosAnywhere || !version?.ok) {
    return unparsable(
      `this appliance cannot push NixOS: ${missing.join('; ')}. Set install: pull in its profile instead`,
    );
  }
  return parsed({ nixosAnywhere, nixVersion: version.value });
}

async function findProgram(name: string, path: string): Promise<string | null> {
  for (const folder of path.split(delimiter).filter((part) => part.startsWith('/'))) {
    const file = join(folder, name);
    const executable = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (executable) return file;
  }
  return null;
}

async function nixVersionOf(nix: string): Promise<Parsed<string>> {
  try {
    const { stdout } = await promisify(execFile)(nix, ['--version'], { timeout: ANSWERS_WITHIN });
    return readNixVersion(stdout);
  } catch (error) {
    return unparsable(`cannot read the version of nix: ${shown((error as Error).message)}`);
  }
}

/** `nix (Nix) 2.18.1`; forks put their own name into the parentheses, and the version is last. */
export function readNixVersion(text: string): Parsed<string> {
  const [, version = '', major = '', minor = ''] = /^nix .*?((\d+)\.(\d+)\S*)\s*$/.exec(text.trim()) ?? [];
  if (version === '') return unparsable(`cannot read the version of nix: ${shown(text)}`);
  const [oldestMajor, oldestMinor] = OLDEST_NIX;
  const isNew = Number(major) > oldestMajor || (Number(major) === oldestMajor && Number(minor) >= oldestMinor);
  return isNew ? parsed(version) : unparsable(`nix is ${version}, but must be ${OLDEST_NIX.join('.')} or newer`);
}
