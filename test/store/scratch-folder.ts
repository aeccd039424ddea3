import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** A folder of its own for each test, gone afterwards. */
export function useScratchFolder(): (name: string) => string {
  let folder: string | undefined;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coldiron-store-'));
  });
  afterEach(() => {
    if (folder !== undefined) rmSync(folder, { recursive: true });
    folder = undefined;
  });
  return (name) => {
    if (folder === undefined) throw new Error('the folder is there during a test only');
    return join(folder, name);
  };
}
