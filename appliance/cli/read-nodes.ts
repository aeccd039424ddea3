// Runs a verb that reads, on named or selected nodes. Several nodes get a heading each; the nodes that failed are listed at the end.

import { ERRORS } from '../domain/errors.ts';
import type { Connection } from './connection.ts';
import { chosenNodes, isSelecting, requireNodes, type SelectionOptions, type Undertaking } from './node-selection.ts';
import { failureJson, failureOf, type ManyOptions, type Outcome, onMany } from './on-many.ts';
import { type Output, printable, printJson, standardOutput, styled } from './terminal.ts';

export interface Reading<T extends object> {
  readonly read: (node: string) => Promise<T>;
  /** `node`: as the user named it, or its host name. */
  readonly print: (output: Output, answer: T, node: string) => void;
  /** The JSON value of a node that was named alone; the whole answer when left out. */
  readonly alone?: (answer: T) => unknown;
}

/** A name is passed on as it is: the appliance also knows removed nodes, and can explain a MAC address that it never saw. */
export async function readNodes<T extends object>(
  connection: Connection,
  names: readonly string[],
  options: SelectionOptions,
  verb: Reading<T> & Pick<Undertaking, 'verb' | 'needsBmc'>,
): Promise<void> {
  requireNodes(names, options);
  const undertaking = { ...verb, destroys: null, reads: true };
  const unresolved = !isSelecting(options) && !options.dryRun;
  const nodes = unresolved ? names : await chosenNodes(connection, names, options, undertaking);
  if (nodes !== null) await showNodes(nodes, unresolved && names.length === 1, options, verb);
}

/** `alone`: one node that was named, whose answer needs no heading and is not in a JSON array. */
export async function showNodes<T extends object>(
  nodes: readonly string[],
  alone: boolean,
  { json }: ManyOptions,
  reading: Reading<T>,
): Promise<void> {
  const output = standardOutput();
  const outcomes = await readEach(nodes, reading, json ? null : { output, headings: !alone });
  if (json && !alone) return printOutcomes(output, outcomes);
  const failure = failureOf(outcomes);
  if (failure) throw failure;
  const [only] = outcomes;
  if (json && only?.answer) printJson(output, reading.alone ? reading.alone(only.answer) : only.answer);
}

/** Prints each answer, when `shown` says where. */
export async function readEach<T extends object>(
  nodes: readonly string[],
  reading: Reading<T>,
  shown: { readonly output: Output; readonly headings: boolean } | null,
): Promise<Outcome<T>[]> {
  const each = [...new Set(nodes)];
  if (shown === null) return onMany(each, reading.read);
  const { output, headings } = shown;
  const print = (outcome: Outcome<T>): void => {
    if (headings) printBelowHeading(output, outcome, reading);
    else if (outcome.answer !== null) reading.print(output, outcome.answer, outcome.node);
  };
  return onMany(each, reading.read, inOrder(each, print));
}

/** Prints each outcome as soon as those of the nodes before it are printed. */
function inOrder<T>(nodes: readonly string[], print: (outcome: Outcome<T>) => void): (outcome: Outcome<T>) => void {
  const finished = new Map<string | undefined, Outcome<T>>();
  let printed = 0;
  return (outcome) => {
    finished.set(outcome.node, outcome);
    for (; printed < nodes.length; printed += 1) {
      const next = finished.get(nodes[printed]);
      if (next === undefined) return;
      print(next);
    }
  };
}

function printBelowHeading<T extends object>(
  output: Output,
  { node, answer, error }: Outcome<T>,
  reading: Pick<Reading<T>, 'print'>,
): void {
  output.write(`${styled(output, 'bold', `==> ${printable(node)} <==`)}\n`);
  if (answer === null) output.write(`${styled(output, 'red', error?.code ?? 'internal')}\n`);
  else reading.print(output, answer, node);
  output.write('\n');
}

/** One JSON array with an entry for each node. The exit code says that some failed. */
export function printOutcomes(output: Output, outcomes: readonly Outcome<object>[]): void {
  printJson(
    output,
    outcomes.map(({ node, answer, error }) => ({ node, ...answer, ...(error && failureJson(error)) })),
  );
  const failure = failureOf(outcomes);
  if (failure) process.exitCode = ERRORS[failure.code].exit;
}
