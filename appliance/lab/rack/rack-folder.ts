// What a rack keeps on disk: whose it is, its credentials, and each machine's disk, settings and console.

import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { Secret } from '../../domain/secret.ts';
import { LONGEST_PASSWORD } from './bmc-config.ts';
import type { RackedMachine } from './definition.ts';
import { newVariablesOf } from './firmware.ts';
import { type ProcessIdentity, ProcessRecords } from './process-records.ts';

/** A rack that is up, or was when its owner died. */
export interface RackClaim {
  readonly owner: ProcessIdentity;
  /** keeper: a process for the rack alone. embedded: one that has other work, too. */
  readonly kind: 'keeper' | 'embedded';
  readonly namespace: string;
  /** A socket that takes orders. */
  readonly control: string;
}

const MEBIBYTE = 1024 * 1024;

export class RackFolder {
  readonly path: string;
  readonly records: ProcessRecords;

  constructor(path: string) {
    this.path = resolve(path);
    this.records = new ProcessRecords(this.file('processes'));
    if (/[,:"\s]/.test(this.path)) {
      throw new ColdironError('usage', `a rack's folder has no comma, colon, quote or space in its path: ${this.path}`);
    }
  }

  file(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  get passwordFile(): string {
    return this.file('bmc-password');
  }

  async make(): Promise<void> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
  }

  async claim(): Promise<RackClaim | null> {
    const text = await readFile(this.file('rack.json'), 'utf8').catch(absent);
    return text === null ? null : JSON.parse(text);
  }

  async writeClaim(claim: RackClaim): Promise<void> {
    await writeWhole(this.file('rack.json'), `${JSON.stringify(claim, null, 2)}\n`);
  }

  async dropClaim(): Promise<void> {
    await rm(this.file('rack.json'), { force: true });
  }

  /** Made once per rack, in a file that the inventory names. */
  async password(): Promise<Secret> {
    const kept = await readFile(this.passwordFile, 'utf8').catch(absent);
    if (kept !== null) return new Secret(kept.trim());
    // Six bits a character.
    const made = randomBytes((LONGEST_PASSWORD * 6) / 8).toString('base64url');
    await writeWhole(this.passwordFile, `${made}\n`);
    return new Secret(made);
  }

  async machineFolder(machine: RackedMachine): Promise<string> {
    const folder = this.file('machines', machine.name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** Sparse. One that is there keeps its contents, and grows if it has to; null: the machine has none. */
  async disk(machine: RackedMachine): Promise<string | null> {
    if (machine.disk === 0) return null;
    const file = join(await this.machineFolder(machine), 'disk.img');
    await using disk = await open(file, 'a+', 0o600);
    const { size } = await disk.stat();
    if (size < machine.disk * MEBIBYTE) await disk.truncate(machine.disk * MEBIBYTE);
    return file;
  }

  /** The machine's own copy of its firmware's settings; those of another kind of firmware are of no use to it. */
  async variables(machine: RackedMachine): Promise<string | null> {
    const fresh = newVariablesOf(machine.firmware);
    if (fresh === null) return null;
    const file = join(await this.machineFolder(machine), `${machine.firmware}-variables.fd`);
    const isThere = await stat(file).catch(absent);
    if (isThere === null) await copyFile(fresh, file);
    return file;
  }
}

async function writeWhole(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text, { mode: 0o600 });
  await rename(`${file}.new`, file);
}

const absent = (error: NodeJS.ErrnoException): null => {
  if (error.code === 'ENOENT') return null;
  throw error;
};
