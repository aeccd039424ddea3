// Reads Server-Sent Events (HTML standard, "Parsing an event stream") from chunks of text.

export interface SseMessage {
  readonly event: string;
  readonly data: string;
  /** The last id that the stream has set, also by a message without data. */
  readonly id: string;
}

/** The longest line that is kept: a server that sends no line ends must not fill the memory. */
const LONGEST_LINE = 16 * 1024 * 1024;

export class SseReader {
  #rest = '';
  #event = '';
  #data: string[] = [];
  #id = '';
  #lastId = '';

  /** The id of the last whole message, for the next connection: one that was cut off is sent again. */
  get lastId(): string {
    return this.#lastId;
  }

  /** The messages that this chunk completes. */
  read(chunk: string): SseMessage[] {
    const lines = (this.#rest + chunk).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    if (this.#rest.length > LONGEST_LINE) throw new Error('the event stream sent a line without end');
    return lines.flatMap((line) => this.#line(line) ?? []);
  }

  #line(line: string): SseMessage | null {
    if (line === '') return this.#dispatch();
    if (line.startsWith(':')) return null;
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    else if (field === 'data') this.#data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return null;
  }

  #dispatch(): SseMessage | null {
    this.#lastId = this.#id;
    const message = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.#id };
    const isEmpty = this.#data.length === 0;
    this.#event = '';
    this.#data = [];
    return isEmpty ? null : message;
  }
}
