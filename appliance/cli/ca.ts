import type { Answer } from '../contract/wire.ts';
import { confirmed } from './confirmed.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printJson, standardOutput, table } from './terminal.ts';

type Holder = Answer<'getAuthorities'>['stale'][number];

export async function showAuthorities(options: ConnectionOptions & { readonly pem?: boolean }): Promise<void> {
  const answer = await operate(await connect(options), 'getAuthorities', {});
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  if (options.pem) {
    output.write(answer.trust_pem);
    return;
  }
  const rows = answer.authorities.map(({ state, not_after, fingerprint }) => [state, not_after, fingerprint]);
  output.write(table(output, ['STATE', 'UNTIL', 'SHA-256 FINGERPRINT'], rows));
  const keys = answer.task_signing_keys.map(({ id, state }) => `${id} (${state})`).join(', ');
  output.write(`\nTasks are signed with: ${keys}\n`);
  if (answer.stale.length > 0) {
    output.write(`\nCertificates of the outgoing authority, valid until ${answer.stale_until} at the latest:\n`);
    output.write(holders(answer.stale));
  }
  if (answer.expiring.length > 0) {
    output.write('\nExpiring within 7 days:\n');
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
      ? `${answer.fingerprint} is trusted and does not sign yet. To let it sign: coldiron ca rotate\n`
      : `${answer.fingerprint} signs from now on. When all nodes have renewed their certificates: coldiron ca retire\n`,
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
  output.write(`${answer.fingerprint} is no longer trusted.\n`);

  async function forced(): Promise<object> {
    const { authorities, stale } = await operate(connection, 'getAuthorities', {});
    const outgoing = authorities.find(({ state }) => state === 'outgoing');
    if (!outgoing) return {};
    const who = [...new Set(stale.map(({ holder }) => holder))].join(', ') || 'no node';
    const confirm = await confirmed(outgoing.fingerprint, {
      yes: options.yes,
      means: `this invalidates the certificates of ${who}`,
      purpose: `to invalidate the certificates of ${who}`,
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
      ? `Key ${answer.id} is published to the nodes. To let it sign, in a minute: coldiron ca rotate-task-key\n`
      : `Key ${answer.id} signs from now on; tasks signed with the previous key are accepted for a week.\n`,
  );
}
