// Inventory files on the command line: read, checked, and either sound or a list of everything that is wrong.

import { ColdironError } from '../domain/errors.ts';
import { checkInventory, type DeclaredSource } from '../inventory/check.ts';
import { type RawSource, readInventoryFiles } from '../inventory/read-files.ts';

export async function checkedSources(
  files: readonly string[],
  more: readonly RawSource[] = [],
): Promise<DeclaredSource[]> {
  return (await sourcesWithWarnings(files, more)).sources;
}

export async function sourcesWithWarnings(
  files: readonly string[],
  more: readonly RawSource[],
): Promise<{ sources: DeclaredSource[]; warnings: string[] }> {
  const { problems, warnings, sources } = checkInventory([...more, ...(await readInventoryFiles([...files]))]);
  if (problems.length > 0) throw invalidInventory(problems);
  return { sources, warnings };
}

export const invalidInventory = (problems: readonly string[]): ColdironError =>
  new ColdironError(
    'invalid_inventory',
    problems.length === 1 ? 'the inventory has a problem:' : `the inventory has ${problems.length} problems:`,
    problems,
  );
