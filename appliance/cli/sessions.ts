import type { Answer } from '../contract/wire.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import type { SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, table } from './terminal.ts';

export async function listSessions(
  names: readonly string[],
  options: ConnectionOptions & SelectionOptions,
): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'sessions',
    read: (node) => operate(connection, 'listNodeSessions', { params: { node } }),
    print: printSessions,
    alone: ({ sessions }) => sessions,
  });
}

function printSessions(output: Output, { sessions }: Answer<'listNodeSessions'>, node: string): void {
  if (sessions.length === 0) {
    output.write(`The service OS has not been started on ${printable(node)} yet.\n`);
    return;
  }
  const rows = sessions.map(({ mode, ticket_made_at, opened_at, identity, last, ended }) => [
    mode,
    ticket_made_at,
    opened_at ?? 'not opened',
    identity ?? '-',
    last ? lastWords(last) : '-',
    ended ? `${ended.how}${ended.reason === null ? '' : `: ${ended.reason}`}` : 'open',
  ]);
  output.write(table(output, ['MODE', 'SCRIPT', 'OPENED', 'IDENTITY', 'LAST', 'ENDED'], rows));
}

type LastStep = NonNullable<Answer<'listNodeSessions'>['sessions'][number]['last']>;

function lastWords({ step, status, percent, stalled_since }: LastStep): string {
  const stands = stalled_since === null ? '' : `, stands still since ${stalled_since}`;
  return `${step} ${percent === null ? status : `${Math.floor(percent)} %`}${stands}`;
}
