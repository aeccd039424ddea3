// Which nodes a verb is about: by name, or all that match a selector. The selection is shown before anything is done to it.

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
  /** As the refusal and the question name it: "deploy", "power off". */
  readonly verb: string;
  /** What is lost, in words that follow "this"; null: nothing. */
  readonly destroys: string | null;
  /** Whatever has no BMC is not meant by a selector. */
  readonly needsBmc?: boolean;
  /** It only shows something: nothing is asked. */
  readonly reads?: boolean;
}

type NodeAnswer = Answer<'getNode'>;

const SELECTORS = '--all, --site, --rack, --label, --cluster, --in or --match';

export const isSelecting = ({ all, site, rack, label, cluster, in: state, match }: SelectionOptions): boolean =>
  all === true || [site, rack, label, cluster, state, match].some((value) => value !== undefined);

/** Each node once, in the order it was named; by host name where it was not. Null: it was a dry run, and the nodes are shown. */
export async function chosenNodes(
  connection: Connection,
  names: readonly string[],
  options: SelectionOptions,
  undertaking: Undertaking,
): Promise<string[] | null> {
  const selected = isSelecting(options);
  if (names.length > 0 && selected) {
    throw new ColdironError('usage', `name nodes (${names.join(' ')}), or select them with ${SELECTORS}, not both`);
  }
  if (names.length === 0 && !selected)
    throw new ColdironError('usage', `name a node, or select some with ${SELECTORS}`);
  const nodes = selected ? await selectedNodes(connection, options, undertaking) : await namedNodes(connection, names);
  if (options.dryRun) {
    showSelection(nodes, options, undertaking);
    return null;
  }
  await mustBeMeant(nodes, selected, options, undertaking);
  return nodes.map(({ hostname }) => hostname);
}

const PAGE = '1000';

/** All pages of those that match. */
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

/** By whatever they were called. One that is not there ends it. */
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

/** One is typed out by its name, several by how many they are. */
async function mustBeMeant(
  nodes: readonly NodeAnswer[],
  selected: boolean,
  { yes }: SelectionOptions,
  undertaking: Undertaking,
): Promise<void> {
  const { verb, destroys, reads } = undertaking;
  if (reads) return;
  // Standard output is for the answers.
  if (selected) process.stderr.write(`${selectionTable(nodes)}${wouldDo(nodes, undertaking)}\n`);
  const [only] = nodes;
  if (destroys === null && (!selected || !process.stdin.isTTY)) return;
  const one = nodes.length === 1 && only !== undefined;
  const whom = printable(one ? only.hostname : `${nodes.length} nodes`);
  await confirmed(one ? only.hostname : String(nodes.length), {
    yes,
    means: destroys === null ? `${verb} is about ${whom}` : `this ${destroys} of ${whom}`,
    asked: `to ${verb} ${nodes.map(({ hostname }) => hostname).join(' ')}`,
  });
}
