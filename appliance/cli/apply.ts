import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import type { ObjectChange } from '../domain/inventory.ts';
import { readInventoryFiles } from '../inventory/read-files.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printChangedNodes } from './rendering-changes.ts';
import { type Output, printable, printJson, type Style, standardOutput, styled } from './terminal.ts';

interface ApplyOptions extends ConnectionOptions {
  readonly dryRun?: boolean;
  readonly diff?: boolean;
}

export async function apply(files: string[], options: ApplyOptions): Promise<void> {
  if (options.diff && !options.dryRun) throw new ColdironError('usage', '--diff shows what --dry-run finds: give both');
  // Files that contradict each other are told apart here, with their names; what contradicts the store, by the appliance.
  const raw = await readInventoryFiles(files);
  const connection = await connect(options);
  const answer = await operate(connection, 'applyInventory', {
    body: {
      sources: raw.map(({ name, file, value }) => ({ name, file, document: value as Record<string, unknown> })),
      dry_run: options.dryRun === true,
      diff: options.diff === true,
    },
  });
  const output = standardOutput();
  if (options.json) printJson(output, answer);
  else {
    printChanges(output, answer);
    printChangedNodes(output, answer.renderings ?? [], options.diff === true);
  }
}

const MARKS: Readonly<Record<ObjectChange['change'], readonly [mark: string, style: Style]>> = {
  created: ['+', 'green'],
  changed: ['~', 'yellow'],
  removed: ['-', 'red'],
  refused: ['!', 'red'],
  unchanged: ['=', 'grey'],
};

export function printChanges(output: Output, answer: Answer<'applyInventory'>): void {
  for (const { kind, name, change, details } of answer.changes) {
    const [mark, style] = MARKS[change];
    output.write(`${styled(output, style, `${mark} ${kind} ${printable(name)}`)} ${change}\n`);
    for (const detail of details) output.write(`    ${printable(detail)}\n`);
  }
  for (const warning of answer.warnings ?? []) output.write(`Warning: ${printable(warning)}\n`);
  const counts = new Map<string, number>(answer.unchanged > 0 ? [['unchanged', answer.unchanged]] : []);
  for (const { change } of answer.changes) counts.set(change, (counts.get(change) ?? 0) + 1);
  const parts = Object.keys(MARKS)
    .filter((change) => counts.has(change))
    .map((change) => `${counts.get(change)} ${change}`);
  const tail = answer.dry_run ? ' (dry run: nothing was changed)' : ` (revision ${answer.revision})`;
  output.write(`${parts.join(', ') || 'nothing declared'}${tail}\n`);
}
