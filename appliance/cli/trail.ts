import type { Json } from '../domain/event.ts';
import { storyLines } from '../trail/story.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { printable, printJson, standardOutput, styled, table } from './terminal.ts';

interface EventAnswer {
  readonly seq: number;
  readonly at: string;
  readonly kind: string;
  readonly actor: string;
  readonly correlation_id: string | null;
  readonly data: Json;
}

export async function trail(node: string, options: ConnectionOptions & { readonly limit: string }): Promise<void> {
  const query = { node, limit: options.limit, newest: 'true' };
  const { events } = await (await connect(options)).get<{ events: EventAnswer[] }>('/api/v1/events', query);
  const output = standardOutput();
  if (options.json) return printJson(output, events);
  if (events.length === 0) return output.write(`Nothing has been heard of ${node} yet.\n`);
  for (const line of storyLines(events.map((event) => ({ ...event, attempt: event.correlation_id })))) {
    output.write(`${line.startsWith('  ') ? printable(line) : styled(output, 'bold', line)}\n`);
  }
}

interface LeaseAnswer {
  readonly address: string;
  readonly mac: string;
  readonly network: string;
  readonly state: string;
  readonly expires_at: string;
  readonly held: boolean;
  readonly hostname: string | null;
}

export async function listLeases(options: ConnectionOptions & { readonly network?: string }): Promise<void> {
  const { leases } = await (await connect(options)).get<{ leases: LeaseAnswer[] }>('/api/v1/leases', {
    network: options.network,
  });
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
