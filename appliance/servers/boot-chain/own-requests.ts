// Marks the appliance's own checks of its boot server with a secret key, so that they are not recorded for any machine. The
// source address is not enough: other programs on this machine have the same one.

import type { IncomingMessage } from 'node:http';

const HEADER = 'x-coldiron-own';

export class OwnRequests {
  readonly #key: string;

  /** `key`: random, one per process. */
  constructor(key: string) {
    this.#key = key;
  }

  /** Only for our own servers: a client that knows the key could bypass the trail. */
  get headers(): Readonly<Record<string, string>> {
    return { [HEADER]: this.#key };
  }

  readonly isOwn = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean => headers[HEADER] === this.#key;
}
