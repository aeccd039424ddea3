// A password or key that cannot leak into a log, an error, an API response or debug output by accident.

const SHOWN = '[secret]';

export class Secret {
  readonly #bytes: Uint8Array;

  constructor(value: string | Uint8Array) {
    this.#bytes = typeof value === 'string' ? new TextEncoder().encode(value) : Uint8Array.from(value);
  }

  /** Use it only for a computation or for sending the secret. */
  reveal(): Uint8Array {
    return this.#bytes;
  }

  toString(): string {
    return SHOWN;
  }

  toJSON(): string {
    return SHOWN;
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return SHOWN;
  }
}
