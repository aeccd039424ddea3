// Mutations of request targets, headers and JSON documents.

import type { Random } from './random.ts';

/** Traversal, encodings, control characters, separators, and values that parsers tend to mistake. */
const PIECES: readonly [string, ...string[]] = [
  ...([
    '../',
    '..%2f',
    '%2e%2e/',
    '%00',
    '%',
    '%zz',
    '//',
    '\\',
    ';',
    '?',
    '&',
    '=',
    '#',
    '%0d%0a',
    '\t',
    ' ',
    '+',
  ] as const),
  ...([
    '\u0000',
    '\u001b[2J',
    '\u202e',
    '\ud800',
    '\u00e9',
    '\u{1f4a9}',
    'A'.repeat(300),
    '-1',
    '1e999',
    'NaN',
    'null',
  ] as const),
  ...([
    '{',
    '}',
    '[',
    ']',
    '"',
    "'",
    '`',
    ',',
    ':',
    'true',
    '__proto__',
    'constructor',
    '<',
    '>',
    '$',
    '(',
    '|',
  ] as const),
];

/** One to four changes. */
export function mutateText(text: string, random: Random): string {
  let result = text;
  for (let more = 1 + random.below(4); more > 0; more -= 1) {
    const at = random.below(result.length + 1);
    const count = random.below(8);
    switch (random.below(4)) {
      case 0:
        result = result.slice(0, at) + random.oneOf(PIECES) + result.slice(at);
        break;
      case 1:
        result = result.slice(0, at) + result.slice(at + count);
        break;
      case 2:
        result =
          result.slice(0, at) + result.slice(at, at + count).repeat(1 + random.below(5)) + result.slice(at + count);
        break;
      default:
        result = result.slice(0, at) + String.fromCharCode(random.below(0x180)) + result.slice(at + 1);
    }
  }
  return result;
}

type Value = null | boolean | number | string | readonly Value[] | { readonly [key: string]: Value };

const VALUES: readonly [() => Value, ...(() => Value)[]] = [
  () => null,
  () => true,
  () => 0,
  () => -1,
  () => 1.5,
  () => 1e308,
  () => Number.MAX_SAFE_INTEGER,
  () => '',
  () => 'x'.repeat(10_000),
  () => '\u0000\u001b]52;c;\u0007\u202e\ud800',
  () => [],
  () => ({}),
  () => Array.from({ length: 600 }, () => ({})),
  () => nested(200),
];

/** One member gets another value, another name, or is left out; the document stays JSON. */
export function mutateJson(value: Value, random: Random): Value {
  if (Array.isArray(value) && value.length > 0 && random.below(4) !== 0) {
    const at = random.below(value.length);
    return value.map((item: Value, index) => (index === at ? mutateJson(item, random) : item));
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    const entries = Object.entries(value);
    const at = random.below(entries.length);
    const [name, member] = entries[at] ?? ['', null];
    const choice = random.below(6);
    if (choice === 0) return Object.fromEntries(entries.filter((_, index) => index !== at));
    if (choice === 1) return Object.fromEntries([...entries, [mutateText(name, random), member]]);
    if (choice === 2) return JSON.parse(`{"__proto__":${JSON.stringify(value)}}`) as Value;
    return { ...value, [name]: mutateJson(member, random) };
  }
  return random.oneOf(VALUES)();
}

/** Half of the time the text is damaged too. */
export function mutatedJson(value: Value, random: Random): string {
  const text = JSON.stringify(mutateJson(value, random));
  return random.below(2) === 0 ? text : mutateText(text, random);
}

function nested(depth: number): Value {
  let value: Value = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

export type { Value as JsonValue };
