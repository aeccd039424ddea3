import { confirmed } from './confirmed.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { printJson, standardOutput, table } from './terminal.ts';

interface Authority {
  readonly fingerprint: string;
  readonly state: string;
  readonly created_at: string;
  readonly not_after: string;
}

interface Holder {
  readonly holder: string;
  readonly kind: string;
  readonly serial: string;
  readonly not_after: string;
}

interface Authorities {
  readonly authorities: readonly Authority[];
  readonly stale: readonly Holder[];
  readonly stale_until: string | null;
  readonly expiring: readonly Holder[];
  readonly task_signing_keys: readonly { readonly id: string; readonly state: string }[];
}

export async function showAuthorities(options: ConnectionOptions): Promise<void> {
  const answer = await (await connect(options)).get<Authorities>('/api/v1/ca');
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  const rows = answer.authorities.map(({ state, not_after, fingerprint }) => [state, not_after, fingerprint]);
  output.write(table(output, ['STATE', 'UNTIL', 'SHA-256 FINGERPRINT'], rows));
  const keys = answer.task_signing_keys.map(({ id, state }) => `${id} (${state})`).join(', ');
  output.write(`\nTasks are signed with: ${keys}\n`);
  if (answer.stale.length > 0) {
    output.write(`\nStill under the authority that goes out, at most until ${answer.stale_until}:\n`);
    output.write(holders(answer.stale));
  }
  if (answer.expiring.length > 0) {
    output.write('\nEnding within 7 days:\n');
    output.write(holders(answer.expiring));
  }

  function holders(list: readonly Holder[]): string {
    return table(
      output,
      ['HOLDER', 'KIND', 'UNTIL', 'SERIAL'],
      list.map(({ holder, kind, not_after, serial }) => [holder, kind, not_after, serial]),
    );
  }
}

export async function rotateAuthority(options: ConnectionOptions & { readonly stageOnly?: boolean }): Promise<void> {
  const answer = await (await connect(options)).post<Authority>('/api/v1/ca/rotate', {
    stage_only: options.stageOnly ?? false,
  });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  output.write(
    answer.state === 'staged'
      ? `${answer.fingerprint} is trusted, and signs after the next: coldiron ca rotate\n`
      : `${answer.fingerprint} signs from now on. Nodes take it over by themselves; then: coldiron ca retire\n`,
  );
}

interface RetireOptions extends ConnectionOptions {
  readonly force?: boolean;
  readonly yes?: boolean;
}

export async function retireAuthority(options: RetireOptions): Promise<void> {
  const connection = await connect(options);
  const answer = await connection.post<Authority>('/api/v1/ca/retire', options.force ? await forced() : {});
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  output.write(`${answer.fingerprint} is trusted no longer.\n`);

  async function forced(): Promise<object> {
    const { authorities, stale } = await connection.get<Authorities>('/api/v1/ca');
    const outgoing = authorities.find(({ state }) => state === 'outgoing');
    if (!outgoing) return {};
    const who = [...new Set(stale.map(({ holder }) => holder))].join(', ') || 'nobody';
    const confirm = await confirmed(outgoing.fingerprint, {
      yes: options.yes,
      means: `this cuts off ${who}`,
      asked: `to cut off ${who}`,
    });
    return { force: true, confirm };
  }
}

export async function rotateTaskKey(options: ConnectionOptions): Promise<void> {
  const answer = await (await connect(options)).post<{ id: string; state: string }>('/api/v1/ca/task-key', {});
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  output.write(
    answer.state === 'staged'
      ? `Key ${answer.id} is made known to the nodes. In a minute: coldiron ca rotate-task-key\n`
      : `Key ${answer.id} signs from now on; what the one before signed is accepted for a week.\n`,
  );
}
