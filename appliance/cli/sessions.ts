import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

export async function listSessions(node: string, options: ConnectionOptions): Promise<void> {
  const { sessions } = await operate(await connect(options), 'listNodeSessions', { params: { node } });
  const output = standardOutput();
  if (options.json) return printJson(output, sessions);
  if (sessions.length === 0) return output.write(`The service OS has not been started on ${node} yet.\n`);
  const rows = sessions.map(({ mode, ticket_made_at, opened_at, identity, last, ended }) => [
    mode,
    ticket_made_at,
    opened_at ?? 'not opened',
    identity ?? '-',
    last ? `${last.step} ${last.percent === null ? last.status : `${Math.floor(last.percent)} %`}` : '-',
    ended ? `${ended.how}${ended.reason === null ? '' : `: ${ended.reason}`}` : 'open',
  ]);
  output.write(table(output, ['MODE', 'SCRIPT', 'OPENED', 'IDENTITY', 'LAST', 'ENDED'], rows));
}
