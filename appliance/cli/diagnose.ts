import type { Answer } from '../contract/wire.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import type { SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, styled } from './terminal.ts';

export async function diagnose(names: readonly string[], options: ConnectionOptions & SelectionOptions): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'diagnose',
    read: (node) => operate(connection, 'diagnoseNode', { params: { node } }),
    print: printDiagnosis,
  });
}

function printDiagnosis(output: Output, { node, diagnosis, state, waits_for }: Answer<'diagnoseNode'>): void {
  if (diagnosis === null) {
    output.write(`No problem found for ${node}: its state is ${state}. ${waits_for}\n`);
    return;
  }
  output.write(`${styled(output, 'bold', printable(diagnosis.reason))}\n`);
  for (const line of diagnosis.evidence) output.write(`  ${printable(line)}\n`);
  output.write(`→ ${printable(diagnosis.next_step)}\n`);
}
