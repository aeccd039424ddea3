// Asks an SSH server whether it would let a user in with a public key (RFC 4252 §7: a request without a signature, which the server
// answers with SSH_MSG_USERAUTH_PK_OK). The appliance has no private keys of people, and needs none for this.

import type { BaseAgent as Agent, Client, KnownPublicKeys } from 'ssh2';
import { type Instant, SECOND } from '../domain/instant.ts';
import { shown } from '../domain/parsed.ts';
import { fingerprintOf } from './ssh-public-key.ts';

export interface KeyQuestion {
  readonly host: string;
  readonly port: number;
  readonly username: string;
  /** The public key, as in authorized_keys. */
  readonly line: string;
}

export type KeyAnswer =
  /** `hostKey`: the fingerprint of the server. */
  | { readonly accepted: true; readonly hostKey: string }
  | { readonly accepted: false; readonly reason: string; readonly hostKey: string | null };

export type KeyProbe = (question: KeyQuestion) => Promise<KeyAnswer>;

const PATIENCE = 10 * SECOND;

export const sshKeyProbe =
  (patience: Instant = PATIENCE): KeyProbe =>
  async ({ host, port, username, line }) => {
    // Loaded with the first rotation: most appliances never need it, and it takes some MB.
    const { default: ssh2 } = await import('ssh2');
    const key = ssh2.utils.parseKey(line);
    if (key instanceof Error) {
      return { accepted: false, reason: `a key of this type cannot be probed: ${shown(key.message)}`, hostKey: null };
    }
    const client: Client = new ssh2.Client();
    return new Promise((resolve) => {
      let hostKey: string | null = null;
      const finish = (answer: KeyAnswer): void => {
        clearTimeout(timer);
        client.destroy();
        resolve(answer);
      };
      const refuse = (reason: string): void => finish({ accepted: false, reason, hostKey });
      const timer = setTimeout(() => refuse('no answer before the timeout'), patience);

      /** `sign` is called only after the server has accepted the key. */
      class OneKey extends ssh2.BaseAgent {
        override getIdentities(reply: (error?: Error, keys?: KnownPublicKeys) => void): void {
          reply(undefined, [key] as KnownPublicKeys);
        }
        override sign(): void {
          if (hostKey === null) refuse('the server showed no host key');
          else finish({ accepted: true, hostKey });
        }
      }
      // Stays attached: the destroyed connection may still report an error.
      client.on('error', (error: Error & { level?: string }) =>
        refuse(
          error.level === 'client-authentication'
            ? 'the server does not accept this key for this user'
            : shown(error.message),
        ),
      );
      client.on('close', () => refuse('the server closed the connection'));
      client.connect({
        ...{ host, port, username, readyTimeout: patience, authHandler: ['agent'] },
        agent: new OneKey() as Agent,
        hostVerifier: (shownKey: Buffer) => {
          hostKey = fingerprintOf(shownKey);
          return true;
        },
      });
    });
  };
