import type { Answer } from '../contract/wire.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import type { SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, table } from './terminal.ts';

interface LogOptions extends ConnectionOptions, SelectionOptions {
  readonly action?: string;
  readonly errorClass?: string;
  readonly errors?: boolean;
  readonly contains?: string;
  readonly since?: string;
  readonly limit: string;
}

export async function showAgentLogs(names: readonly string[], options: LogOptions): Promise<void> {
  const connection = await connect(options);
  const query = {
    action: options.action,
    error_class: options.errorClass,
    errors: options.errors ? 'true' : undefined,
    contains: options.contains,
    since: options.since,
    limit: options.limit,
  };
  await readNodes(connection, names, options, {
    verb: 'agent logs',
    read: (node) => operate(connection, 'listAgentLogs', { params: { node }, query }),
    print: printLines,
    alone: ({ lines }) => lines,
  });
}

function printLines(output: Output, { lines }: Answer<'listAgentLogs'>, node: string): void {
  if (lines.length === 0) {
    output.write(`The agent of ${printable(node)} has sent no such lines.\n`);
    return;
  }
  const rows = lines.map(({ at, action, error_class, message }) => [
    at,
    action,
    error_class ?? '-',
    printable(message),
  ]);
  output.write(table(output, ['AT', 'ACTION', 'ERROR', 'MESSAGE'], rows));
}
