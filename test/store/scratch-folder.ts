import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';

/** A separate folder for each test, deleted afterwards. */
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
    if (folder === undefined) throw new Error('the folder exists only during a test');
    return join(folder, name);
  };
}
