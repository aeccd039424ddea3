// A rack's files: the record of its owner, its credentials, and each machine's disk, settings and console.

import { createHash, randomBytes } from 'node:crypto';
import { copyFile, mkdir, open, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { ColdironError } from '../../domain/errors.ts';
import { Secret } from '../../domain/secret.ts';
import { MAX_PASSWORD_LENGTH } from './bmc-config.ts';
import type { RackedMachine } from './definition.ts';
import { newVariablesOf } from './firmware.ts';
import { type ProcessIdentity, ProcessRecords } from './process-records.ts';

/** A rack that is up, or was up when its owner died. */
export interface RackClaim {
  readonly owner: ProcessIdentity;
  /** keeper: a process for the rack alone. embedded: a process that also does other work. */
  readonly kind: 'keeper' | 'embedded';
  readonly namespace: string;
  /** The control socket. */
  readonly control: string;
}

const MEBIBYTE = 1024 * 1024;
const PASSWORD_FOLDERS = '/run/coldiron-rack';

export class RackFolder {
  readonly path: string;
  readonly records: ProcessRecords;

  constructor(path: string) {
    this.path = resolve(path);
    this.records = new ProcessRecords(this.file('processes'));
    if (/[,:"\s]/.test(this.path)) {
      throw new ColdironError(
        'usage',
        `the path of a rack's folder must not contain a comma, colon, quote or space: ${this.path}`,
      );
    }
  }

  file(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  /** Outside the folder: it may be in the state folder of an appliance, which reads no password files there. */
  get passwordFolder(): string {
    return join(PASSWORD_FOLDERS, createHash('sha256').update(this.path).digest('hex').slice(0, 16));
  }

  get passwordFile(): string {
    return join(this.passwordFolder, 'bmc-password');
  }

  /** What the maker of the machines' TPMs has. */
  get tpmVendor(): string {
    return this.file('tpm-vendor');
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

  /** Generated once per rack, in a file that the inventory names. */
  async password(): Promise<Secret> {
    const kept = await readFile(this.passwordFile, 'utf8').catch(absent);
    if (kept !== null) return new Secret(kept.trim());
    // Each base64url character holds six bits.
    const made = randomBytes((MAX_PASSWORD_LENGTH * 6) / 8).toString('base64url');
    await mkdir(this.passwordFolder, { recursive: true, mode: 0o700 });
    await writeWhole(this.passwordFile, `${made}\n`);
    return new Secret(made);
  }

  async erasePassword(): Promise<void> {
    await rm(this.passwordFolder, { recursive: true, force: true });
  }

  async erase(): Promise<void> {
    await this.erasePassword();
    await rm(this.path, { recursive: true, force: true });
  }

  async machineFolder(machine: RackedMachine): Promise<string> {
    const folder = this.file('machines', machine.name);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return folder;
  }

  /** Sparse. An existing disk keeps its contents and grows if required; null: the machine has none. */
  async disk(machine: RackedMachine): Promise<string | null> {
    if (machine.disk === 0) return null;
    const file = join(await this.machineFolder(machine), 'disk.img');
    await using disk = await open(file, 'a+', 0o600);
    const { size } = await disk.stat();
    if (size < machine.disk * MEBIBYTE) await disk.truncate(machine.disk * MEBIBYTE);
    return file;
  }

  /** The machine's own copy of its firmware's variables, one per firmware kind. */
  async variables(machine: RackedMachine): Promise<string | null> {
    const fresh = newVariablesOf(machine.firmware);
    if (fresh === null) return null;
    const file = join(await this.machineFolder(machine), `${machine.firmware}-variables.fd`);
    const existing = await stat(file).catch(absent);
    if (existing === null) await copyFile(fresh, file);
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
