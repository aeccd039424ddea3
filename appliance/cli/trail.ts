import type { Json } from '../domain/event.ts';
import { storyLines } from '../trail/story.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printable, printJson, standardOutput, styled, table } from './terminal.ts';

export async function trail(node: string, options: ConnectionOptions & { readonly limit: string }): Promise<void> {
  const query = { node, limit: options.limit, newest: 'true' };
  const { events } = await operate(await connect(options), 'listEvents', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, events);
  if (events.length === 0) return output.write(`There are no events of ${node} yet.\n`);
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
