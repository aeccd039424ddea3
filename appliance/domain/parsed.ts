// The result of parsing external input: a value, or a reason that a person can act on.
// Parsers never throw: the caller decides whether a bad value is an error, an event or a rejection.

export type Parsed<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly reason: string };

export const parsed = <T>(value: T): Parsed<T> => ({ ok: true, value });
export const unparsable = (reason: string): Parsed<never> => ({ ok: false, reason });

/** For values that the appliance wrote itself (a stored row, a constant): a failure is a bug, not bad input. */
export function mustParse<T>(result: Parsed<T>): T {
  if (!result.ok) throw new Error(`bug: a value that the appliance wrote does not parse: ${result.reason}`);
  return result.value;
}

declare const brand: unique symbol;
/** A primitive that only its parser can create. */
export type Branded<T, Name extends string> = T & { readonly [brand]: Name };

const SHOWN_LENGTH = 60;
/** Quotes external text in a message: bounded, and without control characters for the terminal or the log. */
export function shown(text: unknown): string {
  const raw = typeof text === 'string' ? text : (JSON.stringify(text) ?? String(text));
  const visible = raw.replace(/[^\x20-\x7e]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
  return visible.length > SHOWN_LENGTH ? `${visible.slice(0, SHOWN_LENGTH)}…` : visible;
}
