// The way out of a console that takes every key: a tilde at the beginning of a line, as in ssh and ipmitool.

const [TILDE, DOT, QUESTION, CARRIAGE_RETURN, LINE_FEED] = [0x7e, 0x2e, 0x3f, 0x0d, 0x0a];

export const ESCAPE_HELP = [
  '~.  leave the console',
  '~?  this list',
  '~~  a tilde',
  'A tilde counts only at the beginning of a line.',
] as const;

export interface Typed {
  /** What the machine gets. */
  readonly send: Uint8Array;
  readonly wants: 'nothing' | 'help' | 'leave';
}

export class EscapeReader {
  #atLineStart = true;
  #tildeHeld = false;

  /** What is behind the request to leave is not sent. */
  read(keys: Uint8Array): Typed {
    const send: number[] = [];
    let wants: Typed['wants'] = 'nothing';
    for (const key of keys) {
      if (this.#tildeHeld) {
        this.#tildeHeld = false;
        if (key === DOT) return { send: Uint8Array.from(send), wants: 'leave' };
        if (key === QUESTION) {
          wants = 'help';
          continue;
        }
        send.push(TILDE);
        if (key === TILDE) {
          this.#atLineStart = false;
          continue;
        }
      } else if (key === TILDE && this.#atLineStart) {
        this.#tildeHeld = true;
        continue;
      }
      send.push(key);
      this.#atLineStart = key === CARRIAGE_RETURN || key === LINE_FEED;
    }
    return { send: Uint8Array.from(send), wants };
  }
}
