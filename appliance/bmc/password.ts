// Passwords for BMCs: random, short enough for the oldest of them, typed without mistakes, and no shell or URL stumbles over one.

import { Secret } from '../domain/secret.ts';

/** IPMI 1.5 and many later BMCs keep no more. */
export const SAFE_PASSWORD_LENGTH = 16;

/** One of each kind, as the complexity rules of BMCs want it; without the letters and digits that look like others. */
const KINDS = ['abcdefghijkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.+='] as const;
const ALL = KINDS.join('');
const [SMALL, LARGE] = KINDS;

/** `random` gives so many random bytes. Sixteen characters are worth some 90 bits. */
export function newPassword(random: (bytes: number) => Uint8Array, length = SAFE_PASSWORD_LENGTH): Secret {
  for (;;) {
    // A letter first: some BMCs want one there, and programs take a dash for an option.
    const text = pick(random, SMALL + LARGE) + Array.from({ length: length - 1 }, () => pick(random, ALL)).join('');
    if (KINDS.every((kind) => Array.from(kind).some((character) => text.includes(character)))) return new Secret(text);
  }
}

/** Every character equally often: numbers past the last whole round are thrown again. */
function pick(random: (bytes: number) => Uint8Array, alphabet: string): string {
  const limit = 256 - (256 % alphabet.length);
  for (;;) {
    const [byte = limit] = random(1);
    if (byte < limit) return alphabet.charAt(byte % alphabet.length);
  }
}
