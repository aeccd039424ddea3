// Waits until the installer lets us in. It is known by the host keys that it reported through its session: whoever shows another one
// is somebody else, and there is no second try.

import { setTimeout as pause } from 'node:timers/promises';
import type { Client, ConnectConfig, ServerHostKeyAlgorithm } from 'ssh2';
import { type Instant, SECOND } from '../../../domain/instant.ts';
import { type Parsed, parsed, shown, unparsable } from '../../../domain/parsed.ts';
import type { Secret } from '../../../domain/secret.ts';
import { parseSshKeyLine, type SshKeyLine } from '../../../domain/ssh-key.ts';

/** Where the installer is: the address that its machine was leased. */
export interface InstallerAddress {
  readonly host: string;
  readonly port: number;
}

export interface Reaching {
  readonly target: InstallerAddress;
  /** Public key lines, as in its /etc/ssh/ssh_host_*.pub. */
  readonly hostKeys: readonly string[];
  readonly privateKey: Secret;
  /** How long it is tried, all in all. */
  readonly patience: Instant;
  readonly signal: AbortSignal;
}

const USER = 'root';
const ONE_TRY = 10 * SECOND;
const BETWEEN_TRIES = SECOND;
/** A machine that was reset says no farewell. */
const ASK_EVERY = 5 * SECOND;
const SILENCES = 3;

/** What OpenSSH offers for a key of each type that ssh2 can check. */
const ALGORITHMS: ReadonlyMap<string, readonly ServerHostKeyAlgorithm[]> = new Map([
  ['ssh-ed25519', ['ssh-ed25519']],
  ['ecdsa-sha2-nistp256', ['ecdsa-sha2-nistp256']],
  ['ecdsa-sha2-nistp384', ['ecdsa-sha2-nistp384']],
  ['ecdsa-sha2-nistp521', ['ecdsa-sha2-nistp521']],
  ['ssh-rsa', ['rsa-sha2-512', 'rsa-sha2-256']],
]);

export async function reachInstaller(reaching: Reaching): Promise<Parsed<Client>> {
  const { target, patience, signal } = reaching;
  const pins = readHostKeys(reaching.hostKeys);
  if (!pins.ok) return pins;
  const deadline = performance.now() + patience;
  for (;;) {
    const left = deadline - performance.now();
    const attempt = await connect(reaching, pins.value, Math.min(ONE_TRY, Math.max(left, SECOND)));
    if (attempt.kind === 'connected') return parsed(attempt.client);
    if (signal.aborted) return unparsable('it was cancelled');
    if (attempt.kind === 'refused') return unparsable(attempt.reason);
    if (performance.now() + BETWEEN_TRIES >= deadline) {
      const waited = Math.round(patience / SECOND);
      return unparsable(
        `no SSH server let us in at ${target.host} port ${target.port} within ${waited} s: ${attempt.reason}`,
      );
    }
    await pause(BETWEEN_TRIES, undefined, { signal }).catch(() => undefined);
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
  /** Worth another try. */
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'refused'; readonly reason: string };

async function connect(reaching: Reaching, pins: readonly SshKeyLine[], within: Instant): Promise<Attempt> {
  const { target, signal } = reaching;
  // Loaded with the first push: most appliances never need it, and it would take some MB of each.
  const ssh2 = await import('ssh2');
  const client = new ssh2.Client();
  return new Promise((resolve) => {
    let isStranger = false;
    const finish = (attempt: Attempt): void => {
      signal.removeEventListener('abort', cancel);
      if (attempt.kind !== 'connected') client.destroy();
      resolve(attempt);
    };
    const cancel = (): void => finish({ kind: 'failed', reason: 'it was cancelled' });
    if (signal.aborted) return cancel();
    signal.addEventListener('abort', cancel, { once: true });
    client.once('ready', () => finish({ kind: 'connected', client }));
    // Stays: an error after the connection stands is followed by `close`, which is what others wait for.
    client.on('error', (error) => finish(isStranger ? stranger(target) : judge(error, target)));
    client.once('close', () => finish({ kind: 'failed', reason: 'the connection was closed' }));
    client.connect({
      ...settings(reaching, pins, within),
      hostVerifier: (shownKey: Buffer) => {
        isStranger = !pins.some(({ blob }) => shownKey.equals(blob));
        return !isStranger;
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
  keepaliveInterval: ASK_EVERY,
  keepaliveCountMax: SILENCES,
  authHandler: ['publickey'],
  algorithms: { serverHostKey: [...new Set(pins.flatMap((pin) => ALGORITHMS.get(typeOf(pin)) ?? []))] },
});

function stranger({ host, port }: InstallerAddress): Attempt {
  const reason = `the SSH server at ${host} port ${port} shows another host key than the installer reported: somebody else answers there`;
  return { kind: 'refused', reason };
}

function judge(error: Error & { readonly level?: string }, target: InstallerAddress): Attempt {
  // It has none of the kinds that were reported.
  if (/no matching host key/i.test(error.message)) return stranger(target);
  if (error.level === 'client-authentication') {
    return { kind: 'refused', reason: `the installer at ${target.host} does not accept the key of this deployment` };
  }
  return { kind: 'failed', reason: shown(error.message) };
}
