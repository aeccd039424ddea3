// The record in a rendered folder: the inventory it was rendered from, and which files are ours. Only these are replaced.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { readRegularFile } from '../files/whole-files.ts';
import { isMissing } from './file-errors.ts';

export const RECORD_NAME = 'coldiron-rendering.json';

/** A site of 10,000 nodes has a tenth of this. */
const MOST_BYTES = 256 * 1024 * 1024;

export interface FolderRecord {
  /** `node node01` or `site example`. */
  readonly of: string;
  /** The declared revision of the inventory that it was rendered from. No other file changes with the revision alone. */
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

/** Hashes by path; empty if there is no readable record. */
export async function readRecord(folder: string): Promise<ReadonlyMap<string, string>> {
  try {
    const text = await readRegularFile(join(folder, RECORD_NAME), MOST_BYTES);
    const record: unknown = JSON.parse(text?.toString('utf8') ?? '{}');
    const files = (record as Partial<FolderRecord> | null)?.files ?? [];
    return new Map(files.map(({ path, sha256 }) => [String(path), String(sha256)]));
  } catch (error) {
    if (isMissing(error) || error instanceof SyntaxError || error instanceof TypeError) return new Map();
    throw error;
  }
}
