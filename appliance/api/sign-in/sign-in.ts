// Signing in to the web page with an API token or a one-time code. Wrong ones are counted per address, as for bearer tokens.

import type { IncomingHttpHeaders } from 'node:http';
import { ColdironError } from '../../domain/errors.ts';
import type { Store } from '../../store/store.ts';
import { checkTokenText } from '../auth.ts';
import type { Clock } from '../clock.ts';
import { FailedAttempts } from '../failed-attempts.ts';
import type { OneTimeCodes } from './one-time-codes.ts';
import { crossSiteReason } from './same-origin.ts';
import type { Holder, OpenedSession, WebSessions } from './web-sessions.ts';

export type Proof = { readonly token: string } | { readonly code: string };

export interface SignInDeps {
  readonly store: Pick<Store, 'token'>;
  readonly clock: Clock;
  readonly sessions: WebSessions;
  readonly codes: OneTimeCodes;
}

interface SignInRequest {
  readonly ip: string;
  readonly headers: IncomingHttpHeaders;
  readonly correlationId: string | null;
}

export class SignIn {
  readonly #deps: SignInDeps;
  readonly #failures: FailedAttempts;

  constructor(deps: SignInDeps) {
    this.#deps = deps;
    this.#failures = new FailedAttempts(deps.clock);
  }

  async open(proof: Proof, { ip, headers, correlationId }: SignInRequest): Promise<OpenedSession> {
    // Otherwise another page could sign a person in under a foreign name.
    const foreign = crossSiteReason({ method: 'POST', headers });
    if (foreign !== null) throw new ColdironError('forbidden', `sign in on the appliance's own page: ${foreign}`);
    const holder = await this.#holderOf(proof, ip);
    if (holder.role === 'node') throw new ColdironError('forbidden', 'the role node is for nodes, not for people');
    return this.#deps.sessions.open(holder, correlationId);
  }

  async #holderOf(proof: Proof, ip: string): Promise<Holder> {
    if ('code' in proof) {
      const holder = this.#deps.codes.use(proof.code);
      if (holder !== null) return holder;
      throw this.#refused(
        ip,
        'this link was used already or is older than 5 minutes: make a new one with `coldiron ui`',
      );
    }
    const { authentication, token } = await checkTokenText(this.#deps.store, proof.token.trim(), this.#deps.clock);
    if (!authentication.known) throw this.#refused(ip, authentication.reason);
    return { actor: authentication.caller.actor, role: authentication.caller.role, token };
  }

  #refused(ip: string, reason: string): ColdironError {
    const wait = this.#failures.secondsToWait(ip);
    if (wait > 0) {
      return new ColdironError('rate_limited', `too many failed attempts from ${ip}; try again in ${wait} s`);
    }
    this.#failures.count(ip);
    return new ColdironError('unauthenticated', reason);
  }
}
