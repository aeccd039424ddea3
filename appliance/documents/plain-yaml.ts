// A parser for the YAML subset that large inventories use, several times faster than a full YAML parser: mappings and lists by
// indentation, strings, numbers, true and false on one line, `[…]` and `{…}` on one line, comments. It never guesses: any text
// outside the subset, including errors, is left to the full parser, which returns the same value for the subset and reports
// errors.

/** Thrown where the text leaves the subset; caught in this file. */
class BeyondPlainYaml extends Error {}

/** The value of the text, or null when the full YAML parser must read it. */
export function readPlainYaml(text: string): Record<string, unknown> | null {
  try {
    return new PlainYaml(text).document();
  } catch (error) {
    if (error instanceof BeyondPlainYaml) return null;
    throw error;
  }
}

const MAX_DEPTH = 20;
const MAX_KEY_LENGTH = 100;
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
/** Characters without a special meaning anywhere in an unquoted string. */
const ORDINARY = tableOf(`${LETTERS}${DIGITS}_./-+=()@%`);
/** Characters that an unquoted string may start with. */
const STARTING = tableOf(`${LETTERS}${DIGITS}/`);
const DIGIT = tableOf(DIGITS);

/** Unquoted values that are not strings; only numbers in the common notation are parsed here. */
const NUMBER = /^(?:0o[0-7]+|0x[0-9a-fA-F]+|[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?)$/;
const COMMON_NUMBER = /^(?:0|[1-9][0-9]{0,14})$/;
const NOT_A_STRING = /^(?:true|false|null)$/i;

class PlainYaml {
  readonly #text: string;
  /** The current position, and the indentation of the current line: END after the last line. */
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

  /** Moves from the start of a line to the next content, past empty lines and comments. */
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

  /** Skips what may follow a value: spaces, a comment, the end of the line. */
  #endLine(): void {
    const text = this.#text;
    let at = this.#at;
    while (text.charCodeAt(at) === SPACE) at += 1;
    // A # without a space before it is part of the value.
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
    // A deeper line continues the value above it, or is an error.
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
    // The items of a list may have the same indentation as its key.
    return this.#indent === indent && this.#isItem() ? this.#list(deeper(depth)) : null;
  }

  /** Moves to the next line with content. */
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
    // Two apostrophes are an escaped one.
    if (text.charCodeAt(at + 1) === quote) throw new BeyondPlainYaml();
    return text.slice(from, at);
  }

  /** An unquoted string on this line. */
  #plain(inFlow: boolean): string {
    const text = this.#text;
    const from = this.#at;
    if (!isOf(STARTING, text.charCodeAt(from))) throw new BeyondPlainYaml();
    let at = from + 1;
    for (;;) {
      const code = text.charCodeAt(at);
      if (isOf(ORDINARY, code) || (code === COMMA && !inFlow)) at += 1;
      // A colon or a space belongs to the string only if the string continues after it.
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

  /** Moves past the colon. */
  #key(): string {
    const end = this.#keyEnd();
    if (end === null) throw new BeyondPlainYaml();
    const key = this.#text.slice(this.#at, end);
    if (NOT_A_STRING.test(key) || key.length > MAX_KEY_LENGTH) throw new BeyondPlainYaml();
    this.#at = end + 1;
    return key;
  }

  /** The end of the key that starts here; null: there is none. */
  #keyEnd(): number | null {
    const text = this.#text;
    const first = text.charCodeAt(this.#at);
    // A JavaScript object would reorder numeric keys, and `__proto__` is not an ordinary key.
    if (!isOf(STARTING, first) || isOf(DIGIT, first)) return null;
    let at = this.#at + 1;
    while (isOf(ORDINARY, text.charCodeAt(at))) at += 1;
    return text.charCodeAt(at) === COLON && isBlank(text.charCodeAt(at + 1)) ? at : null;
  }
}

function plainValue(text: string): unknown {
  if (!isOf(DIGIT, text.charCodeAt(0))) {
    if (text === 'true') return true;
    if (text === 'false') return false;
    if (text.length <= 5 && NOT_A_STRING.test(text)) throw new BeyondPlainYaml();
    return text;
  }
  if (!NUMBER.test(text)) return text;
  if (!COMMON_NUMBER.test(text)) throw new BeyondPlainYaml();
  return Number(text);
}

function deeper(depth: number): number {
  if (depth === MAX_DEPTH) throw new BeyondPlainYaml();
  return depth + 1;
}

/** NaN: the end of the text. */
const isBlank = (code: number): boolean => code === SPACE || code === NEWLINE || Number.isNaN(code);

/** YAML rejects most other characters, and folds some. */
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
