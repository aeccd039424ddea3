// `coldiron cabling`: each cable of the chosen nodes, declared against seen, in one table for the technician at the rack.

import type { Answer } from '../contract/wire.ts';
import type { CableVerdict } from '../domain/cabling.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { chosenNodes, isSelecting, requireNodes, type SelectionOptions } from './node-selection.ts';
import { failureOf } from './on-many.ts';
import { operate } from './operate.ts';
import { printOutcomes, readEach } from './read-nodes.ts';
import { type Output, standardOutput, table } from './terminal.ts';

type Cabling = Answer<'getNodeCabling'>;
type Cable = Cabling['cables'][number];

/** What a technician needs to know: is it right, wrong, or to be looked at? */
export const CABLE_WORDS: Readonly<Record<CableVerdict, string>> = {
  'as-declared': 'ok',
  'another-port': 'wrong',
  'not-heard': 'unknown',
  'not-declared': 'undeclared',
};

export async function showCabling(
  names: readonly string[],
  options: ConnectionOptions & SelectionOptions,
): Promise<void> {
  const connection = await connect(options);
  requireNodes(names, options);
  const undertaking = { verb: 'cabling', destroys: null, reads: true };
  const unresolved = !isSelecting(options) && !options.dryRun;
  const nodes = unresolved ? names : await chosenNodes(connection, names, options, undertaking);
  if (nodes === null) return;
  const read = (node: string): Promise<Cabling> => operate(connection, 'getNodeCabling', { params: { node } });
  const outcomes = await readEach(nodes, { read, print: () => undefined }, null);
  const output = standardOutput();
  if (options.json) return printOutcomes(output, outcomes);
  printCabling(
    output,
    outcomes.flatMap(({ answer }) => answer ?? []),
  );
  const failure = failureOf(outcomes);
  if (failure) throw failure;
}

export function printCabling(output: Output, nodes: readonly Cabling[]): void {
  const cables = nodes.flatMap(({ node, cables: each }) => each.map((cable) => ({ node, cable })));
  const rows = cables.map(({ node, cable }) => [
    node,
    cable.interface,
    CABLE_WORDS[cable.verdict],
    portWords(cable.declared?.name, cable.declared?.port),
    portWords(cable.seen?.system ?? cable.seen?.chassis, cable.seen?.port),
    cable.summary,
  ]);
  if (rows.length > 0) {
    output.write(table(output, ['NODE', 'INTERFACE', 'CABLE', 'DECLARED', 'SEEN', 'DETAILS'], rows));
  }
  output.write(`${countWords(cables.map(({ cable }) => cable))}\n`);
}

const portWords = (name: string | null | undefined, port: string | null | undefined): string =>
  [name, port].filter(Boolean).join(' ') || '-';

function countWords(cables: readonly Cable[]): string {
  const counts = Object.entries(CABLE_WORDS).flatMap(([verdict, word]) => {
    const count = cables.filter((cable) => cable.verdict === verdict).length;
    return count === 0 ? [] : [`${count} ${word}`];
  });
  return `${cables.length} ${cables.length === 1 ? 'cable' : 'cables'}${counts.length === 0 ? '' : `: ${counts.join(', ')}`}`;
}
