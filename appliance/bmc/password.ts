// Passwords for BMCs: random, short enough for the oldest BMCs, easy to type, and safe in shells and URLs.

import { Secret } from '../domain/secret.ts';

/** IPMI 1.5 and many later BMCs store no more. */
export const SAFE_PASSWORD_LENGTH = 16;

/** One character of each class, for the complexity rules of BMCs; without letters and digits that look alike. */
const CLASSES = ['abcdefghijkmnpqrstuvwxyz', 'ABCDEFGHJKLMNPQRSTUVWXYZ', '23456789', '-_.+='] as const;
const ALL = CLASSES.join('');
const [SMALL, LARGE] = CLASSES;

/** `random` returns this many random bytes. Sixteen characters have about 90 bits of entropy. */
export function newPassword(random: (bytes: number) => Uint8Array, length = SAFE_PASSWORD_LENGTH): Secret {
  for (;;) {
    // A letter first: some BMCs require it, and command line tools parse a leading dash as an option.
    const text = pick(random, SMALL + LARGE) + Array.from({ length: length - 1 }, () => pick(random, ALL)).join('');
    if (CLASSES.every((kind) => Array.from(kind).some((character) => text.includes(character))))
      return new Secret(text);
  }
}

/** Rejection sampling: bytes past the last multiple of the alphabet's length are discarded, so that no character is favoured. */
function pick(random: (bytes: number) => Uint8Array, alphabet: string): string {
  const limit = 256 - (256 % alphabet.length);
  for (;;) {
    const [byte = limit] = random(1);
    if (byte < limit) return alphabet.charAt(byte % alphabet.length);
  }
}
