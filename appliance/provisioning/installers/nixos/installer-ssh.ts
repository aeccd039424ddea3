// Waits until the installer accepts our SSH login. It is identified by the host keys that it reported through its session: a
// server with another key is not the installer, and is not retried.

import { setTimeout as pause } from 'node:timers/promises';
import type { Client, ConnectConfig, ServerHostKeyAlgorithm } from 'ssh2';
import { type Instant, SECOND } from '../../../domain/instant.ts';
import { type Parsed, parsed, shown, unparsable } from '../../../domain/parsed.ts';
import type { Secret } from '../../../domain/secret.ts';
import { parseSshKeyLine, type SshKeyLine } from '../../../domain/ssh-key.ts';

/** The address of the installer: the lease of its machine. */
export interface InstallerAddress {
  readonly host: string;
  readonly port: number;
}

export interface Reaching {
  readonly target: InstallerAddress;
  /** Public key lines, as in its /etc/ssh/ssh_host_*.pub. */
  readonly hostKeys: readonly string[];
  readonly privateKey: Secret;
  /** The time limit for all attempts. */
  readonly timeout: Instant;
  readonly signal: AbortSignal;
}

const USER = 'root';
const ATTEMPT_LIMIT = 10 * SECOND;
const BETWEEN_ATTEMPTS = SECOND;
/** A machine that was reset does not close its connections. */
const KEEPALIVE_EVERY = 5 * SECOND;
const MISSED_KEEPALIVES = 3;

/** The algorithms that OpenSSH offers for each key type that ssh2 can verify. */
const ALGORITHMS: ReadonlyMap<string, readonly ServerHostKeyAlgorithm[]> = new Map([
  ['ssh-ed25519', ['ssh-ed25519']],
  ['ecdsa-sha2-nistp256', ['ecdsa-sha2-nistp256']],
  ['ecdsa-sha2-nistp384', ['ecdsa-sha2-nistp384']],
  ['ecdsa-sha2-nistp521', ['ecdsa-sha2-nistp521']],
  ['ssh-rsa', ['rsa-sha2-512', 'rsa-sha2-256']],
]);

export async function reachInstaller(reaching: Reaching): Promise<Parsed<Client>> {
  const { target, timeout, signal } = reaching;
  const pins = readHostKeys(reaching.hostKeys);
  if (!pins.ok) return pins;
  const deadline = performance.now() + timeout;
  for (;;) {
    const left = deadline - performance.now();
    const attempt = await connect(reaching, pins.value, Math.min(ATTEMPT_LIMIT, Math.max(left, SECOND)));
    if (attempt.kind === 'connected') return parsed(attempt.client);
    if (signal.aborted) return unparsable('it was cancelled');
    if (attempt.kind === 'refused') return unparsable(attempt.reason);
    if (performance.now() + BETWEEN_ATTEMPTS >= deadline) {
      const waited = Math.round(timeout / SECOND);
      return unparsable(`no SSH login at ${target.host} port ${target.port} within ${waited} s: ${attempt.reason}`);
    }
    await pause(BETWEEN_ATTEMPTS, undefined, { signal }).catch(() => undefined);
  }
}

function readHostKeys(lines: readonly string[]): Parsed<readonly SshKeyLine[]> {
  const keys: SshKeyLine[] = [];
  for (const line of lines) {
    const key = parseSshKeyLine(line);
    if (!key.ok) return unparsable(`a host key that the installer reported: ${key.reason}`);
    if (ALGORITHMS.has(typeOf(key.value))) keys.push(key.value);
  }
  if (keys.length > 0) return parsed(keys);
  return unparsable(
    lines.length === 0
      ? 'the installer reported no host key'
      : 'the installer reported no host key that can be checked',
  );
}

const typeOf = ({ line }: SshKeyLine): string => line.split(' ', 1)[0] ?? '';

type Attempt =
  | { readonly kind: 'connected'; readonly client: Client }
  /** May be retried. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string };

async function connect(reaching: Reaching, pins: readonly SshKeyLine[], within: Instant): Promise<Attempt> {
  const { target, signal } = reaching;
  // Loaded with the first push: most appliances never need it, and it takes some MB.
  const ssh2 = await import('ssh2');
  const client = new ssh2.Client();
  return new Promise((resolve) => {
    let isWrongKey = false;
    const finish = (attempt: Attempt): void => {
      signal.removeEventListener('abort', cancel);
      if (attempt.kind !== 'connected') client.destroy();
      resolve(attempt);
    };
    const cancel = (): void => finish({ kind: 'failed', reason: 'it was cancelled' });
    if (signal.aborted) return cancel();
    signal.addEventListener('abort', cancel, { once: true });
    client.once('ready', () => finish({ kind: 'connected', client }));
    // Stays attached: an error after `ready` is followed by `close`, which the other users wait for.
    client.on('error', (error) => finish(isWrongKey ? hostKeyMismatch(target) : failedAttempt(error, target)));
    client.once('close', () => finish({ kind: 'failed', reason: 'the connection was closed' }));
    client.connect({
      ...settings(reaching, pins, within),
      hostVerifier: (shownKey: Buffer) => {
        isWrongKey = !pins.some(({ blob }) => shownKey.equals(blob));
        return !isWrongKey;
      },
    });
  });
}

const settings = ({ target, privateKey }: Reaching, pins: readonly SshKeyLine[], within: Instant): ConnectConfig => ({
  host: target.host,
  port: target.port,
  username: USER,
  privateKey: Buffer.from(privateKey.reveal()),
  readyTimeout: within,
  keepaliveInterval: KEEPALIVE_EVERY,
  keepaliveCountMax: MISSED_KEEPALIVES,
  authHandler: ['publickey'],
  algorithms: { serverHostKey: [...new Set(pins.flatMap((pin) => ALGORITHMS.get(typeOf(pin)) ?? []))] },
});

function hostKeyMismatch({ host, port }: InstallerAddress): Attempt {
  const reason = `the SSH server at ${host} port ${port} has another host key than the installer reported, so it is not the installer`;
  return { kind: 'refused', reason };
}

function failedAttempt(error: Error & { readonly level?: string }, target: InstallerAddress): Attempt {
  // It has no key of the reported types.
  if (/no matching host key/i.test(error.message)) return hostKeyMismatch(target);
  if (error.level === 'client-authentication') {
    return { kind: 'refused', reason: `the installer at ${target.host} does not accept the key of this deployment` };
  }
  return { kind: 'failed', reason: shown(error.message) };
}
