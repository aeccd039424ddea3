// Records on disk of the processes of a rack, so that they can be ended after the process that started them is gone. Process ids
// are reused; a process id together with its start time identifies one process.

import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { startOf } from './leftovers.ts';

const POLL_EVERY_MS = 10;

export interface ProcessIdentity {
  readonly pid: number;
  readonly start: string;
}

export async function identityOf(pid: number): Promise<ProcessIdentity | null> {
  const start = await startOf(pid);
  return start === null ? null : { pid, start };
}

export const isAlive = async ({ pid, start }: ProcessIdentity): Promise<boolean> => (await startOf(pid)) === start;

export class ProcessRecords {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Replaces the record of an earlier process under this name. */
  async write(name: string, pid: number): Promise<void> {
    const identity = await identityOf(pid);
    if (identity === null) return;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeFile(this.#file(name), `${identity.pid} ${identity.start}\n`);
  }

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
  }

  /** Ends those that still run, and deletes all records. Returns the names of those that ran. */
  async endAll(): Promise<readonly string[]> {
    const ended: string[] = [];
    for (const file of await readdir(this.#folder).catch(noFolder)) {
      const name = file.replace(/\.pid$/, '');
      const [, pid = '', start = ''] = /^(\d+) (\d+)\n/.exec(await readFile(join(this.#folder, file), 'utf8')) ?? [];
      if (pid !== '' && (await endProcess({ pid: Number(pid), start }))) ended.push(name);
      await this.remove(name);
    }
    return ended;
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.pid`);
  }
}

/** Returns when the process has ended; false when it had already ended. */
export async function endProcess(process: ProcessIdentity): Promise<boolean> {
  if (!(await isAlive(process))) return false;
  signal(process.pid, 'SIGKILL');
  // SIGKILL cannot be ignored, but a process that waits for a disk ends late.
  while (await isAlive(process)) await pause(POLL_EVERY_MS);
  return true;
}

/** False: there is no such process. */
export function signal(pid: number, name: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    return false;
  }
}

const noFolder = (error: NodeJS.ErrnoException): string[] => {
  if (error.code === 'ENOENT') return [];
  throw error;
};
