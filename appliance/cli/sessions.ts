import { type ConnectionOptions, connect } from './connection.ts';
import { printJson, standardOutput, table } from './terminal.ts';

export interface SessionAnswer {
  readonly mode: string;
  readonly ticket_made_at: string;
  readonly opened_at: string | null;
  readonly last: {
    readonly step: string;
    readonly status: string;
    readonly percent: number | null;
    readonly message: string | null;
  } | null;
  readonly ended: { readonly how: string; readonly at: string; readonly reason: string | null } | null;
}

export async function listSessions(node: string, options: ConnectionOptions): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}/sessions`;
  const { sessions } = await (await connect(options)).get<{ sessions: SessionAnswer[] }>(path);
  const output = standardOutput();
  if (options.json) return printJson(output, sessions);
  if (sessions.length === 0) return output.write(`No service OS has been started on ${node} yet.\n`);
  const rows = sessions.map(({ mode, ticket_made_at, opened_at, last, ended }) => [
    mode,
    ticket_made_at,
    opened_at ?? 'not opened',
    last ? `${last.step} ${last.percent === null ? last.status : `${Math.floor(last.percent)} %`}` : '-',
    ended ? `${ended.how}${ended.reason === null ? '' : `: ${ended.reason}`}` : 'open',
  ]);
  output.write(table(output, ['MODE', 'SCRIPT', 'OPENED', 'LAST', 'ENDED'], rows));
}
