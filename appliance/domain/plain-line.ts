// Escapes text that may come from a machine into one line that is safe on a terminal, a web page and in a log.

// C0 and C1 controls with ESC, so no ANSI or OSC sequence; NEL, U+2028 and U+2029, which end a line; and the bidi marks,
// embeddings, overrides and isolates, which display text in another order. Zero-width characters hide text.
export const UNSAFE_CHARACTERS =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are exactly what is to be found here
  /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]|\p{Surrogate}/gu;

/** Each unsafe character becomes its escape: `\u001b`. */
export const plainLine = (text: string): string =>
  text.replace(UNSAFE_CHARACTERS, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
