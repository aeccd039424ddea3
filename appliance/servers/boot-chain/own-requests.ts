// The appliance asks its own boot server whether it serves what it advertises. Such a request carries a key that nobody else
// knows, and is no part of any machine's story. An address would not tell: other programs on this machine have it as well.

import type { IncomingMessage } from 'node:http';

const HEADER = 'x-coldiron-own';

export class OwnRequests {
  readonly #key: string;

  /** `key`: random, made for this process. */
  constructor(key: string) {
    this.#key = key;
  }

  /** Only for our own servers: whoever is sent the key could hide from the trail with it. */
  get headers(): Readonly<Record<string, string>> {
    return { [HEADER]: this.#key };
  }

  readonly isOwn = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean => headers[HEADER] === this.#key;
}
