import type { Answer } from '../contract/wire.ts';
import { confirmed } from './confirmed.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

type Holder = Answer<'getAuthorities'>['stale'][number];

export async function showAuthorities(options: ConnectionOptions): Promise<void> {
  const answer = await operate(await connect(options), 'getAuthorities', {});
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
  const answer = await operate(await connect(options), 'rotateAuthority', {
    body: { stage_only: options.stageOnly ?? false },
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
  const answer = await operate(connection, 'retireAuthority', { body: options.force ? await forced() : {} });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  output.write(`${answer.fingerprint} is trusted no longer.\n`);

  async function forced(): Promise<object> {
    const { authorities, stale } = await operate(connection, 'getAuthorities', {});
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
  const answer = await operate(await connect(options), 'rotateTaskKey', { body: {} });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  output.write(
    answer.state === 'staged'
      ? `Key ${answer.id} is made known to the nodes. In a minute: coldiron ca rotate-task-key\n`
      : `Key ${answer.id} signs from now on; what the one before signed is accepted for a week.\n`,
  );
}
