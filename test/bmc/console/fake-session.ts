// A BMC in memory whose console a test writes to and takes away.

import type { BmcConsole } from '../../../appliance/bmc/bmc.ts';
import { BmcError, type BmcFailure } from '../../../appliance/bmc/bmc-error.ts';
import type { ConsoleSession } from '../../../appliance/bmc/console/shared-console.ts';

export class FakeSessions {
  /** The options of each opening. */
  readonly opened: { readonly steal: boolean }[] = [];
  /** Fails the next openings, in order; then they succeed. */
  readonly failures: BmcFailure[] = [];
  /** Somebody outside has the console. */
  taken = false;
  typed = '';
  active = 0;
  #current: FakeConsole | null = null;
  /** Holds openings back until it resolves. */
  gate: Promise<void> = Promise.resolve();

  readonly open = async (options: { readonly steal: boolean }): Promise<ConsoleSession> => {
    this.opened.push(options);
    await this.gate;
    const failure = this.failures.shift();
    if (failure) throw new BmcError(failure, `the BMC fails: ${failure}`);
    if (this.taken && !options.steal) throw new BmcError('busy', 'another client has the console');
    this.taken = false;
    const console = new FakeConsole((characters) => {
      this.typed += Buffer.from(characters).toString('latin1');
    });
    this.#current = console;
    this.active += 1;
    let closed = false;
    const close = async (): Promise<void> => {
      if (!closed) this.active -= 1;
      closed = true;
      await console.close();
    };
    return { console, close };
  };

  print(text: string | Uint8Array): void {
    this.#current?.print(typeof text === 'string' ? Buffer.from(text) : text);
  }

  /** The BMC ends the session. */
  drop(failure: BmcFailure = 'vanished'): void {
    this.#current?.end(new BmcError(failure, `the session ended: ${failure}`));
  }
}

class FakeConsole implements BmcConsole {
  readonly #typed: (characters: Uint8Array) => void;
  readonly #output: Uint8Array[] = [];
  #end: { readonly error: BmcError | null } | null = null;
  #wake: () => void = () => undefined;

  constructor(typed: (characters: Uint8Array) => void) {
    this.#typed = typed;
  }

  write(characters: Uint8Array): void {
    this.#typed(characters);
  }

  print(bytes: Uint8Array): void {
    this.#output.push(bytes);
    this.#wake();
  }

  end(error: BmcError | null): void {
    this.#end ??= { error };
    this.#wake();
  }

  async close(): Promise<void> {
    this.end(null);
  }

  async *[Symbol.asyncIterator](): AsyncIterator<Uint8Array> {
    for (;;) {
      const next = this.#output.shift();
      if (next) yield next;
      else if (this.#end?.error) throw this.#end.error;
      else if (this.#end) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

/** Collects what a console shows. */
export class Screen {
  shown = '';
  ended: string | null = null;
  readonly console: BmcConsole;
  readonly over: Promise<void>;

  constructor(console: BmcConsole) {
    this.console = console;
    this.over = this.#read();
  }

  async #read(): Promise<void> {
    try {
      for await (const bytes of this.console) this.shown += Buffer.from(bytes).toString('latin1');
      this.ended = 'closed';
    } catch (error) {
      this.ended = error instanceof Error ? error.message : String(error);
    }
  }
}
