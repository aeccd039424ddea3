// `coldiron sel`: shows the event logs of BMCs. With --clear, the entries are shown before they are deleted.

import type { Answer } from '../contract/wire.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { confirmSelection, foundNodes, isSelecting, type SelectionOptions } from './node-selection.ts';
import { failureOf, type Outcome, onMany } from './on-many.ts';
import { operate } from './operate.ts';
import { printOutcomes, type Reading, readEach, readNodes } from './read-nodes.ts';
import { type Output, printJson, standardOutput, table } from './terminal.ts';

interface SelOptions extends ConnectionOptions, SelectionOptions {
  readonly clear?: boolean;
}

type EventLog = Answer<'getNodeEventLog'>;

const logsOf = (connection: Connection): Reading<EventLog> => ({
  read: (node) => operate(connection, 'getNodeEventLog', { params: { node } }),
  print: printLog,
  alone: ({ node, entries }) => ({ node, entries, cleared: false }),
});

export async function sel(names: readonly string[], options: SelOptions): Promise<void> {
  const connection = await connect(options);
  if (options.clear) await clearLogs(connection, names, options);
  else await readNodes(connection, names, options, { verb: 'sel', needsBmc: true, ...logsOf(connection) });
}

function printLog(output: Output, { node, entries }: EventLog): void {
  if (entries.length === 0) {
    output.write(`The event log of ${node} is empty.\n`);
    return;
  }
  const rows = entries.map(({ id, at, severity, message }) => [id, at ?? 'clock not set', severity, message]);
  output.write(table(output, ['ID', 'AT', 'SEVERITY', 'EVENT'], rows));
}

const CLEAR = { verb: 'sel --clear', destroys: 'permanently deletes the event log', needsBmc: true };

/** A log that could not be read is not deleted. */
async function clearLogs(connection: Connection, names: readonly string[], options: SelOptions): Promise<void> {
  const nodes = await foundNodes(connection, names, options, CLEAR);
  if (nodes === null) return;
  const alone = names.length === 1 && !isSelecting(options);
  const output = standardOutput();
  const hostnames = nodes.map(({ hostname }) => hostname);
  const logs = await readEach(hostnames, logsOf(connection), options.json ? null : { output, headings: !alone });
  const shown = nodes.filter((_, at) => logs[at]?.answer);
  if (shown.length > 0) await confirmSelection(shown, options, CLEAR);
  const outcomes = await onLogs(logs, (node) => operate(connection, 'clearNodeEventLog', { params: { node } }));
  if (options.json && !alone) return printOutcomes(output, outcomes);
  for (const { node, error } of options.json ? [] : outcomes) {
    if (!error) output.write(`The event log of ${node} is cleared.\n`);
  }
  const failure = failureOf(outcomes);
  if (failure) throw failure;
  const [only] = outcomes;
  if (options.json && only?.answer) printJson(output, { node: only.node, ...only.answer });
}

/** The entries of every log that was read, and what came of clearing it. */
async function onLogs(
  logs: readonly Outcome<EventLog>[],
  clear: (node: string) => Promise<unknown>,
): Promise<Outcome<{ entries: EventLog['entries']; cleared: boolean }>[]> {
  const read = logs.flatMap(({ node, answer }) => (answer ? [node] : []));
  const cleared = new Map((await onMany(read, clear)).map((outcome) => [outcome.node, outcome]));
  return logs.map(({ node, answer, error: unread }) => {
    const error = unread ?? cleared.get(node)?.error ?? null;
    return { node, answer: answer && { entries: answer.entries, cleared: error === null }, error };
  });
}
