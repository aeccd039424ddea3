// A rendered folder's record of itself: which inventory it came from, and which files are ours. Only these are ever replaced.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isMissing } from './file-errors.ts';

export const RECORD_NAME = 'coldiron-rendering.json';

export interface FolderRecord {
  /** `node node01` or `site example`. */
  readonly of: string;
  /** The revision of what is declared that it was made from. Nothing else in the folder changes with it alone. */
  readonly inventory_revision: number;
  readonly files: readonly RecordedFile[];
}

interface RecordedFile {
  readonly path: string;
  readonly mode: string;
  readonly secret: boolean;
  readonly sha256: string;
}

export const recordText = (record: FolderRecord): string => `${JSON.stringify(record, null, 2)}\n`;

export const sha256Of = (content: string | Buffer): string => createHash('sha256').update(content).digest('hex');

/** Hashes by path; empty where there is no record, or none that we can read. */
export async function readRecord(folder: string): Promise<ReadonlyMap<string, string>> {
  try {
    const record: unknown = JSON.parse(await readFile(join(folder, RECORD_NAME), 'utf8'));
    const files = (record as Partial<FolderRecord> | null)?.files ?? [];
    return new Map(files.map(({ path, sha256 }) => [String(path), String(sha256)]));
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError || error instanceof TypeError) return new Map();
    throw error;
  }
}
