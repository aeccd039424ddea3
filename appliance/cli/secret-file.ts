// Files with a secret that an answer contains once: only their owner can read them.

import { mkdir, open, rename, rm } from 'node:fs/promises';
import { ColdironError } from '../domain/errors.ts';

export interface SecretFormat<T> {
  readonly mode: number;
  readonly text: (issued: T) => string;
}

/** The file is created first: a secret that cannot be saved must not be issued. Null: no file. */
export async function issuedTo<T>(file: string | null, format: SecretFormat<T>, issue: () => Promise<T>): Promise<T> {
  if (file === null) return issue();
  const draft = `${file}.new`;
  const handle = await createPrivately(draft, format.mode);
  try {
    const issued = await issue();
    await handle.writeFile(format.text(issued));
    await handle.sync();
    await rename(draft, file);
    return issued;
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  } finally {
    await handle.close();
  }
}

export async function createFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new ColdironError('usage', `cannot create the folder ${folder}: ${(error as Error).message}`);
  }
}

async function createPrivately(file: string, mode: number) {
  try {
    const handle = await open(file, 'w', mode);
    await handle.chmod(mode);
    return handle;
  } catch (error) {
    throw new ColdironError('usage', `cannot write ${file}: ${(error as Error).message}`);
  }
}
