// The end of a program's output, for people: bounded, without control characters, and without secrets.

import { stripVTControlCharacters } from 'node:util';
import { beginsPrivateKey, endsPrivateKey, MASKED, maskSecrets } from '../../../domain/secret-masks.ts';

const MOST_LINES = 60;
const LONGEST_LINE = 400;
/** Only this much of a line is searched: some patterns take quadratic time. */
const SEARCHED = 4096;
/** Shorter ones would redact ordinary words. */
const SHORTEST_SECRET = 6;

export interface OutputTail {
  /** Returns the line as it may be shown. */
  add(line: string): string;
  text(): string;
}

/** `secrets` are redacted wherever they occur; each line of a longer one separately. */
export function outputTail(secrets: readonly string[]): OutputTail {
  const hidden = [...new Set(secrets.flatMap((secret) => secret.split(/\r?\n/)).map((line) => line.trim()))]
    .filter((line) => line.length >= SHORTEST_SECRET && !line.startsWith('-----'))
    .sort((a, b) => b.length - a.length);
  const lines: string[] = [];
  let insideKey = false;
  const clean = (line: string): string => {
    const begins = beginsPrivateKey(line);
    if (begins || insideKey) {
      insideKey = !endsPrivateKey(line);
      return MASKED;
    }
    const known = hidden.reduce((text, secret) => text.replaceAll(secret, MASKED), visible(line.slice(0, SEARCHED)));
    const safe = maskSecrets(known);
    if (line.length <= SEARCHED) return bounded(safe);
    // A secret may have been cut in two: its first half must not become visible.
    return safe.length <= LONGEST_LINE
      ? MASKED
      : `${safe.slice(0, LONGEST_LINE)}… (${line.length - LONGEST_LINE} more)`;
  };
  return {
    add: (line) => {
      const cleaned = clean(line);
      lines.push(cleaned);
      if (lines.length > MOST_LINES) lines.shift();
      return cleaned;
    },
    text: () => lines.join('\n'),
  };
}

/** Also without the marks that reorder or hide text. */
const visible = (line: string): string =>
  stripVTControlCharacters(line).replace(/[^\t\x20-\x7e\u00a0-\uffff]|\p{Cf}|[\u2028\u2029]|\p{Surrogate}/gu, '');

const bounded = (line: string): string =>
  line.length <= LONGEST_LINE ? line : `${line.slice(0, LONGEST_LINE)}… (${line.length - LONGEST_LINE} more)`;
