// The serial port behind a simulated BMC: it sends a greeting, and echoes the input in upper case.

import type { Answer } from './commands.ts';

const GREETING = 'node login: ';

export class SimulatedConsole {
  active = false;
  /** Leaves this many input packets unacknowledged, as if lost. */
  ignoreTyped = 0;
  /** Accepts at most this many characters of a packet. */
  accepts = 255;
  /** Sends each packet twice, the second time with more characters at its end. */
  stutters = false;
  readonly typed: string[] = [];
  #number = 0;
  #lastTyped = 0;

  command(number: number): Answer {
    if (number === 0x49) {
      const code = this.active ? 0 : 0x80;
      this.active = false;
      return { code, data: [] };
    }
    if (this.active) return { code: 0x80, data: [] };
    this.active = true;
    return { code: 0, data: [0, 0, 0, 0, 64, 0, 64, 0, 0x6f, 0x02, 0xff, 0xff] };
  }

  greet(): Uint8Array[] {
    return this.#say(GREETING);
  }

  receive(payload: Uint8Array): Uint8Array[] {
    const number = payload[0] ?? 0;
    if (number === 0) return [];
    if (this.ignoreTyped > 0) {
      this.ignoreTyped -= 1;
      return [];
    }
    const characters = payload.subarray(4, 4 + this.accepts);
    const acknowledgement = Uint8Array.of(0, number, characters.length, 0);
    if (number === this.#lastTyped) return [acknowledgement];
    this.#lastTyped = number;
    const text = Buffer.from(characters).toString('latin1');
    this.typed.push(text);
    return [acknowledgement, ...this.#say(text.toUpperCase())];
  }

  takeAway(): Uint8Array {
    this.active = false;
    return Uint8Array.of(0, 0, 0, 0x10);
  }

  #say(text: string): Uint8Array[] {
    this.#number = (this.#number % 15) + 1;
    const packet = (content: string) => Uint8Array.of(this.#number, 0, 0, 0, ...Buffer.from(content, 'latin1'));
    return this.stutters ? [packet(text.slice(0, -1)), packet(text)] : [packet(text)];
  }
}
