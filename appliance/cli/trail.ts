import type { Answer } from '../contract/wire.ts';
import type { Json } from '../domain/event.ts';
import { storyLines } from '../trail/story.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import type { SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, printJson, standardOutput, styled, table } from './terminal.ts';

interface TrailOptions extends ConnectionOptions, SelectionOptions {
  readonly limit: string;
}

export async function trail(names: readonly string[], options: TrailOptions): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'trail',
    read: async (node) => {
      const query = { node, limit: options.limit, newest: 'true' };
      const { events } = await operate(connection, 'listEvents', { query });
      return { events };
    },
    print: printTrail,
    alone: ({ events }) => events,
  });
}

function printTrail(output: Output, { events }: Pick<Answer<'listEvents'>, 'events'>, node: string): void {
  if (events.length === 0) {
    output.write(`There are no events of ${printable(node)} yet.\n`);
    return;
  }
  for (const line of storyLines(
    events.map((event) => ({ ...event, data: event.data as Json, attempt: event.correlation_id })),
  )) {
    output.write(`${line.startsWith('  ') ? printable(line) : styled(output, 'bold', line)}\n`);
  }
}

export async function listLeases(options: ConnectionOptions & { readonly network?: string }): Promise<void> {
  const query = { network: options.network };
  const { leases } = await operate(await connect(options), 'listLeases', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, leases);
  const rows = leases.map(({ address, mac, hostname, network, state, held, expires_at }) => [
    address,
    mac,
    hostname ?? '-',
    network,
    state === 'bound' && !held ? 'expired' : state,
    expires_at,
  ]);
  output.write(table(output, ['ADDRESS', 'MAC', 'NODE', 'NETWORK', 'STATE', 'EXPIRES'], rows));
}
