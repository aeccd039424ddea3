// The part of YAML that large inventories are written in, read several times faster than all of YAML can be: mappings and
// lists by indentation, texts, numbers, true and false on one line, `[…]` and `{…}` on one line, comments. It never guesses:
// whatever is not clearly of this part, mistakes included, is left to the reader of all of YAML, which gives the same value
// for the rest and says what is wrong.

/** Thrown where the text leaves the part; never seen outside. */
class BeyondPlainYaml extends Error {}

/** The value of the text, or null when it has to be read as YAML proper. */
export function readPlainYaml(text: string): Record<string, unknown> | null {
  try {
    return new PlainYaml(text).document();
  } catch (error) {
    if (error instanceof BeyondPlainYaml) return null;
    throw error;
  }
}

const DEEPEST = 20;
const LONGEST_KEY = 100;
const END = -1;
const NEWLINE = 10;
const SPACE = 32;
const QUOTES = 34;
const HASH = 35;
const APOSTROPHE = 39;
const COMMA = 44;
const DASH = 45;
const COLON = 58;
const OPEN_LIST = 91;
const BACKSLASH = 92;
const CLOSE_LIST = 93;
const OPEN_MAPPING = 123;
const CLOSE_MAPPING = 125;

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const DIGITS = '0123456789';
/** What means nothing special to YAML, wherever it stands in a text without quotes. */
const ORDINARY = tableOf(`${LETTERS}${DIGITS}_./-+=()@%`);
/** With what such a text may begin. */
const BEGINNING = tableOf(`${LETTERS}${DIGITS}/`);
const DIGIT = tableOf(DIGITS);

/** Everything that is no text although it has no quotes; of numbers only those that are written in the one usual way are read. */
const NUMBER = /^(?:0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)$/;
const USUAL_NUMBER = /^(?:0|[1-9][0-9]{0,14})$/;
const NO_TEXT = /^(?:true|false|null)$/i;

class PlainYaml {
  readonly #text: string;
  /** Where we are, and how far the content of this line is indented: END behind the last. */
  #at = 0;
  #indent = 0;

  constructor(text: string) {
    this.#text = text;
  }

  document(): Record<string, unknown> {
    this.#toContent();
    if (this.#indent !== 0 || this.#isItem()) throw new BeyondPlainYaml();
    const value = this.#mapping(0);
    if (!this.#isAtEnd()) throw new BeyondPlainYaml();
    return value;
  }

  #isAtEnd(): boolean {
    return this.#indent === END;
  }

  /** From the beginning of a line to the next content, past empty lines and comments. */
  #toContent(): void {
    const text = this.#text;
    for (;;) {
      const begin = this.#at;
      let at = begin;
      while (text.charCodeAt(at) === SPACE) at += 1;
      this.#at = at;
      if (at >= text.length) {
        this.#indent = END;
        return;
      }
      const code = text.charCodeAt(at);
      if (code !== NEWLINE && code !== HASH) {
        this.#indent = at - begin;
        return;
      }
      this.#endLine();
    }
  }

  /** Over what may follow a value: spaces, a comment, the end of the line. */
  #endLine(): void {
    const text = this.#text;
    let at = this.#at;
    while (text.charCodeAt(at) === SPACE) at += 1;
    // Without a space before it, it would be part of the value.
    if (text.charCodeAt(at) === HASH && (at === 0 || isBlank(text.charCodeAt(at - 1)))) {
      while (at < text.length && text.charCodeAt(at) !== NEWLINE) mustBePrintable(text.charCodeAt(at++));
    }
    if (at < text.length && text.charCodeAt(at) !== NEWLINE) throw new BeyondPlainYaml();
    this.#at = at + 1;
  }

  #isItem(): boolean {
    return this.#text.charCodeAt(this.#at) === DASH && this.#text.charCodeAt(this.#at + 1) === SPACE;
  }

  #mapping(depth: number): Record<string, unknown> {
    const indent = this.#indent;
    const mapping: Record<string, unknown> = {};
    while (this.#indent === indent && !this.#isItem()) {
      const key = this.#key();
      if (Object.hasOwn(mapping, key)) throw new BeyondPlainYaml();
      mapping[key] = this.#valueOfKey(indent, depth);
    }
    // A deeper line goes on with the value above it, or is a mistake.
    if (this.#indent > indent) throw new BeyondPlainYaml();
    return mapping;
  }

  #list(depth: number): unknown[] {
    const indent = this.#indent;
    const list: unknown[] = [];
    while (this.#indent === indent && this.#isItem()) {
      this.#at += 2;
      this.#indent += 2;
      while (this.#text.charCodeAt(this.#at) === SPACE) {
        this.#at += 1;
        this.#indent += 1;
      }
      list.push(this.#keyEnd() === null ? this.#valueOnLine() : this.#mapping(deeper(depth)));
    }
    if (this.#indent > indent) throw new BeyondPlainYaml();
    return list;
  }

  #valueOfKey(indent: number, depth: number): unknown {
    const text = this.#text;
    while (text.charCodeAt(this.#at) === SPACE) this.#at += 1;
    const code = text.charCodeAt(this.#at);
    if (code !== NEWLINE && code !== HASH && this.#at < text.length) return this.#valueOnLine();
    this.#endLine();
    this.#toContent();
    if (this.#indent > indent) return this.#isItem() ? this.#list(deeper(depth)) : this.#mapping(deeper(depth));
    // The items of a list may stand right below the key that it belongs to.
    return this.#indent === indent && this.#isItem() ? this.#list(deeper(depth)) : null;
  }

  /** Goes on to the next line with content. */
  #valueOnLine(): unknown {
    const value = this.#value(false, 0);
    this.#endLine();
    this.#toContent();
    return value;
  }

  #value(inFlow: boolean, depth: number): unknown {
    const code = this.#text.charCodeAt(this.#at);
    switch (code) {
      case QUOTES:
      case APOSTROPHE:
        return this.#quoted(code);
      case OPEN_LIST:
        return this.#flowList(depth);
      case OPEN_MAPPING:
        return this.#flowMapping(depth);
      default:
        return plainValue(this.#plain(inFlow));
    }
  }

  #quoted(quote: number): string {
    const text = this.#text;
    const from = this.#at + 1;
    let at = from;
    for (let code = text.charCodeAt(at); code !== quote; code = text.charCodeAt(++at)) {
      mustBePrintable(code);
      if (code === BACKSLASH && quote === QUOTES) throw new BeyondPlainYaml();
    }
    this.#at = at + 1;
    // Two apostrophes stand for one.
    if (text.charCodeAt(at + 1) === quote) throw new BeyondPlainYaml();
    return text.slice(from, at);
  }

  /** A text without quotes, as far as it goes on this line. */
  #plain(inFlow: boolean): string {
    const text = this.#text;
    const from = this.#at;
    if (!isOf(BEGINNING, text.charCodeAt(from))) throw new BeyondPlainYaml();
    let at = from + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (isOf(ORDINARY, code) || (code === COMMA && !inFlow)) at += 1;
      // A colon or spaces belong to it only when it goes on behind them.
      else if ((code === SPACE || code === COLON) && isOf(ORDINARY, text.charCodeAt(at + 1))) at += 2;
      else break;
    }
    this.#at = at;
    return text.slice(from, at);
  }

  #flowList(depth: number): unknown[] {
    const list: unknown[] = [];
    this.#flow(CLOSE_LIST, () => list.push(this.#value(true, deeper(depth))));
    return list;
  }

  #flowMapping(depth: number): Record<string, unknown> {
    const mapping: Record<string, unknown> = {};
    this.#flow(CLOSE_MAPPING, () => {
      const key = this.#key();
      if (Object.hasOwn(mapping, key) || this.#text.charCodeAt(this.#at) !== SPACE) throw new BeyondPlainYaml();
      this.#skipSpaces();
      mapping[key] = this.#value(true, deeper(depth));
    });
    return mapping;
  }

  #flow(close: number, readItem: () => void): void {
    this.#at += 1;
    this.#skipSpaces();
    if (this.#text.charCodeAt(this.#at) === close) {
      this.#at += 1;
      return;
    }
    for (;;) {
      readItem();
      this.#skipSpaces();
      const code = this.#text.charCodeAt(this.#at);
      this.#at += 1;
      if (code === close) return;
      if (code !== COMMA) throw new BeyondPlainYaml();
      this.#skipSpaces();
    }
  }

  #skipSpaces(): void {
    while (this.#text.charCodeAt(this.#at) === SPACE) this.#at += 1;
  }

  /** Goes on behind its colon. */
  #key(): string {
    const end = this.#keyEnd();
    if (end === null) throw new BeyondPlainYaml();
    const key = this.#text.slice(this.#at, end);
    if (NO_TEXT.test(key) || key.length > LONGEST_KEY) throw new BeyondPlainYaml();
    this.#at = end + 1;
    return key;
  }

  /** Where the key that begins here ends; null when there is none. */
  #keyEnd(): number | null {
    const text = this.#text;
    const first = text.charCodeAt(this.#at);
    // An object of JavaScript would sort keys that are numbers, and `__proto__` is none of its keys.
    if (!isOf(BEGINNING, first) || isOf(DIGIT, first)) return null;
    let at = this.#at + 1;
    while (isOf(ORDINARY, text.charCodeAt(at))) at += 1;
    return text.charCodeAt(at) === COLON && isBlank(text.charCodeAt(at + 1)) ? at : null;
  }
}

function plainValue(text: string): unknown {
  if (!isOf(DIGIT, text.charCodeAt(0))) {
    if (text === 'true') return true;
    if (text === 'false') return false;
    if (text.length <= 5 && NO_TEXT.test(text)) throw new BeyondPlainYaml();
    return text;
  }
  if (!NUMBER.test(text)) return text;
  if (!USUAL_NUMBER.test(text)) throw new BeyondPlainYaml();
  return Number(text);
}

function deeper(depth: number): number {
  if (depth === DEEPEST) throw new BeyondPlainYaml();
  return depth + 1;
}

/** NaN: the end of the text. */
const isBlank = (code: number): boolean => code === SPACE || code === NEWLINE || Number.isNaN(code);

/** YAML refuses most of the rest, and folds some of it. */
function mustBePrintable(code: number): void {
  const printable = (code >= 0x20 && code <= 0x7e) || (code >= 0xa1 && code <= 0x1fff);
  if (!printable) throw new BeyondPlainYaml();
}

const isOf = (table: Uint8Array, code: number): boolean => table[code] === 1;

function tableOf(characters: string): Uint8Array {
  const table = new Uint8Array(128);
  for (const character of characters) table[character.charCodeAt(0)] = 1;
  return table;
}
