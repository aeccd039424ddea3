// Selects the bytes of a file for a request: preconditions and ranges of RFC 9110 (§13.2.2, §14). Clients: EDK2 resumes with
// Range and If-Match, GRUB seeks with `bytes=N-`, an initramfs resumes with wget or curl.

import type { IncomingHttpHeaders } from 'node:http';

export type Selection =
  /** `end` is exclusive. */
  { readonly status: 200 | 206; readonly start: number; readonly end: number } | { readonly status: 304 | 412 | 416 };

export const entityTag = (sha256: string): string => `"${sha256}"`;

/** `method`: a range applies only to GET (§14.2). */
export function selectBytes(method: string, headers: IncomingHttpHeaders, size: number, etag: string): Selection {
  if (headers['if-match'] !== undefined && !names(headers['if-match'], etag)) return { status: 412 };
  if (headers['if-none-match'] !== undefined && names(headers['if-none-match'], etag, 'weakly')) return { status: 304 };
  const whole = { status: 200, start: 0, end: size } as const;
  if (method !== 'GET' || headers.range === undefined) return whole;
  // We send no Last-Modified, so a date in If-Range never matches (§13.1.5).
  const condition = headers['if-range'];
  if (condition !== undefined && condition !== etag) return whole;
  return rangeOf(headers.range, size) ?? whole;
}

/** §8.8.3.2: If-Match uses strong comparison, so a weak tag never matches; If-None-Match uses weak comparison. */
function names(header: string, etag: string, comparison: 'strongly' | 'weakly' = 'strongly'): boolean {
  return header
    .split(',')
    .map((tag) => tag.trim())
    .some((tag) => tag === '*' || tag === etag || (comparison === 'weakly' && tag === `W/${etag}`));
}

/** null: not a single valid byte range, so the header is ignored (§14.2). */
function rangeOf(header: string, size: number): Selection | null {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/i.exec(header.trim());
  if (!match) return null;
  const [, first = '', last = ''] = match;
  if (first === '') return last === '' ? null : suffix(Number(last), size);
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return { status: 416 };
  return { status: 206, start, end: last === '' ? size : Math.min(Number(last) + 1, size) };
}

function suffix(length: number, size: number): Selection {
  if (length === 0 || size === 0) return { status: 416 };
  return { status: 206, start: Math.max(size - length, 0), end: size };
}
