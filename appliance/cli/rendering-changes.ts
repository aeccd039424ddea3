// Changes of rendered files for a person: which, how many lines, and the lines themselves in colour.

import type { Answer } from '../contract/wire.ts';
import { type Output, printable, type Style, styled } from './terminal.ts';

type ChangedNode = NonNullable<Answer<'applyInventory'>['renderings']>[number];
type ChangedFile = ChangedNode['files'][number];

export function printChangedFiles(output: Output, files: readonly ChangedFile[], withDiff: boolean): void {
  for (const { path, change, added, removed, diff } of files) {
    if (withDiff && diff) output.write(coloured(output, diff));
    else output.write(`    ${printable(path)} ${change}${counts(added, removed)}\n`);
  }
}

/** What nodes would be given otherwise than now. */
export function printChangedNodes(output: Output, nodes: readonly ChangedNode[], withDiff: boolean): void {
  for (const { node, files, reasons } of nodes) {
    output.write(`${styled(output, 'yellow', `~ rendering of ${printable(node)}`)}\n`);
    for (const reason of reasons) output.write(`    cannot be rendered any more: ${printable(reason)}\n`);
    printChangedFiles(output, files, withDiff);
  }
  if (nodes.length > 0)
    output.write(`${nodes.length} ${nodes.length === 1 ? 'node' : 'nodes'} would be given something else.\n`);
}

const counts = (added: number, removed: number): string => (added + removed === 0 ? '' : ` (+${added} -${removed})`);

const STYLES: readonly (readonly [start: string, style: Style])[] = [
  ['--- ', 'bold'],
  ['+++ ', 'bold'],
  ['@@', 'grey'],
  ['+', 'green'],
  ['-', 'red'],
];

function coloured(output: Output, diff: string): string {
  const line = (text: string): string => {
    const style = STYLES.find(([start]) => text.startsWith(start))?.[1];
    return style ? styled(output, style, printable(text)) : printable(text);
  };
  return `${diff.replace(/\n$/, '').split('\n').map(line).join('\n')}\n`;
}
