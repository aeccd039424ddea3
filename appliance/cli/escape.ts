// Escapes of the console, which passes every other key on: a tilde at the beginning of a line, as in ssh and ipmitool.

const [TILDE, DOT, QUESTION, CARRIAGE_RETURN, LINE_FEED] = [0x7e, 0x2e, 0x3f, 0x0d, 0x0a];

export const ESCAPE_HELP = [
  '~.  close the console',
  '~?  this list',
  '~~  send a tilde',
  'Escapes work only at the beginning of a line.',
] as const;

export interface Typed {
  /** The bytes for the machine. */
  readonly send: Uint8Array;
  readonly action: 'nothing' | 'help' | 'leave';
}

export class EscapeReader {
  #atLineStart = true;
  #tildeHeld = false;

  /** Keys after the close escape are not sent. */
  read(keys: Uint8Array): Typed {
    const send: number[] = [];
    let action: Typed['action'] = 'nothing';
    for (const key of keys) {
      if (this.#tildeHeld) {
        this.#tildeHeld = false;
        if (key === DOT) return { send: Uint8Array.from(send), action: 'leave' };
        if (key === QUESTION) {
          action = 'help';
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
    return { send: Uint8Array.from(send), action };
  }
}
