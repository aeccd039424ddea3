// The nodes of a verb: by name, or all that match a selector. The selection is shown before the verb runs.

import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { confirmed } from './confirmed.ts';
import type { Connection } from './connection.ts';
import { failureOf, onMany } from './on-many.ts';
import { operate } from './operate.ts';
import { printable, printJson, standardOutput, table } from './terminal.ts';

export interface FilterOptions {
  readonly site?: string;
  readonly rack?: string;
  readonly label?: readonly string[];
  readonly cluster?: string;
  readonly in?: string;
  readonly match?: string;
}

export interface SelectionOptions extends FilterOptions {
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

export interface Undertaking {
  /** As error messages and the prompt name it: "deploy", "power off". */
  readonly verb: string;
  /** The consequence, in words that follow "this"; null: none. */
  readonly destroys: string | null;
  /** Selectors skip nodes without a BMC. */
  readonly needsBmc?: boolean;
  /** Read-only: needs no confirmation. */
  readonly reads?: boolean;
}

export type NodeAnswer = Answer<'getNode'>;

const SELECTORS = '--all, --site, --rack, --label, --cluster, --in or --match';

export const isSelecting = ({ all, site, rack, label, cluster, in: state, match }: SelectionOptions): boolean =>
  all === true || [site, rack, label, cluster, state, match].some((value) => value !== undefined);

/** Each node once, in the order of the arguments; selected nodes by host name. Null: a dry run, which shows the nodes. */
export async function chosenNodes(
  connection: Connection,
  names: readonly string[],
  options: SelectionOptions,
  undertaking: Undertaking,
): Promise<string[] | null> {
  const nodes = await foundNodes(connection, names, options, undertaking);
  if (nodes === null) return null;
  await confirmSelection(nodes, options, undertaking);
  return nodes.map(({ hostname }) => hostname);
}

/** Like chosenNodes, without confirmation: for a verb that asks later, with `confirmSelection`. */
export async function foundNodes(
  connection: Connection,
  names: readonly string[],
  options: SelectionOptions,
  undertaking: Undertaking,
): Promise<NodeAnswer[] | null> {
  requireNodes(names, options);
  const nodes = isSelecting(options)
    ? await selectedNodes(connection, options, undertaking)
    : await namedNodes(connection, names);
  if (!options.dryRun) return nodes;
  showSelection(nodes, options, undertaking);
  return null;
}

/** Nodes are named or selected, not both. */
export function requireNodes(names: readonly string[], options: SelectionOptions): void {
  const selected = isSelecting(options);
  if (names.length > 0 && selected) {
    throw new ColdironError('usage', `name nodes (${names.join(' ')}), or select them with ${SELECTORS}, not both`);
  }
  if (names.length === 0 && !selected)
    throw new ColdironError('usage', `name a node, or select some with ${SELECTORS}`);
}

const PAGE = '1000';

/** Reads all pages of the nodes that match. */
export async function nodesMatching(
  connection: Connection,
  { site, rack, label, cluster, in: state, match }: FilterOptions,
  bmc?: 'true',
): Promise<NodeAnswer[]> {
  const nodes: NodeAnswer[] = [];
  let after: string | undefined;
  do {
    const query = { site, rack, label, cluster, state, q: match, bmc, limit: PAGE, after };
    const page = await operate(connection, 'listNodes', { query });
    nodes.push(...page.nodes);
    after = page.next ?? undefined;
  } while (after !== undefined);
  return nodes;
}

async function selectedNodes(
  connection: Connection,
  options: SelectionOptions,
  { needsBmc }: Undertaking,
): Promise<NodeAnswer[]> {
  const nodes = await nodesMatching(connection, options, needsBmc ? 'true' : undefined);
  if (nodes.length > 0) return nodes;
  const which = needsBmc ? 'no node with a BMC' : 'no node';
  throw new ColdironError('not_found', `${which} matches ${selectorText(options)}`);
}

function selectorText({ site, rack, label = [], cluster, in: state, match }: SelectionOptions): string {
  const given = [
    ['--site', site],
    ['--rack', rack],
    ...label.map((each) => ['--label', each]),
    ['--cluster', cluster],
    ['--in', state],
    ['--match', match],
  ].flatMap(([option, value]) => (value === undefined ? [] : [`${option} ${value}`]));
  return given.join(' ') || '--all';
}

/** By host name, MAC address or id. Throws when one does not exist. */
async function namedNodes(connection: Connection, names: readonly string[]): Promise<NodeAnswer[]> {
  const found = await onMany(names, (name) => operate(connection, 'getNode', { params: { node: name } }));
  const failure = failureOf(found);
  if (failure) throw failure;
  return [...new Map(found.flatMap(({ answer }) => (answer ? [[answer.hostname, answer]] : []))).values()];
}

function showSelection(nodes: readonly NodeAnswer[], { json }: SelectionOptions, undertaking: Undertaking): void {
  const output = standardOutput();
  if (json) {
    printJson(
      output,
      nodes.map(({ hostname, state }) => ({ node: hostname, state })),
    );
    return;
  }
  output.write(selectionTable(nodes));
  output.write(`${wouldDo(nodes, undertaking)} (dry run: nothing was done)\n`);
}

const selectionTable = (nodes: readonly NodeAnswer[]): string =>
  table(
    { write: () => undefined, colour: false },
    ['NAME', 'STATE', 'SITE', 'PROFILE'],
    nodes.map(({ hostname, state, site, profile }) => [hostname, state, site ?? '-', profile ?? '-']),
  );

const countOf = (nodes: readonly NodeAnswer[]): string => (nodes.length === 1 ? '1 node' : `${nodes.length} nodes`);

const wouldDo = (nodes: readonly NodeAnswer[], { verb, destroys }: Undertaking): string =>
  `${verb}: ${countOf(nodes)}${destroys === null ? '' : `; this ${destroys} of each`}`;

/** The user types the name of a single node, or the number of several. */
export async function confirmSelection(
  nodes: readonly NodeAnswer[],
  options: SelectionOptions,
  undertaking: Undertaking,
): Promise<void> {
  const { verb, destroys, reads } = undertaking;
  if (reads) return;
  const selected = isSelecting(options);
  // Standard output is for the results.
  if (selected) process.stderr.write(`${selectionTable(nodes)}${wouldDo(nodes, undertaking)}\n`);
  const [only] = nodes;
  if (destroys === null && (!selected || !process.stdin.isTTY)) return;
  const one = nodes.length === 1 && only !== undefined;
  const subject = printable(one ? only.hostname : `${nodes.length} nodes`);
  await confirmed(one ? only.hostname : String(nodes.length), {
    yes: options.yes,
    means: destroys === null ? `${verb} affects ${subject}` : `this ${destroys} of ${subject}`,
    purpose: `to ${verb} ${nodes.map(({ hostname }) => hostname).join(' ')}`,
  });
}
