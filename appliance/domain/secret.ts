// A password or key that cannot end up in a log, an error, an API answer or a debugger's print by accident.

const SHOWN = '[secret]';

export class Secret {
  readonly #bytes: Uint8Array;

  constructor(value: string | Uint8Array) {
    this.#bytes = typeof value === 'string' ? new TextEncoder().encode(value) : Uint8Array.from(value);
  }

  /** Only where it goes into a computation or onto the wire. */
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
