// Checks whether a URL can be fetched, as a machine does it: over HTTP, at the address it will use.

import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';

const TIMEOUT_MS = 5000;

export async function fetchable(
  url: string,
  headers: Readonly<Record<string, string>>,
): Promise<Parsed<{ readonly bytes: number | null }>> {
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const answer = await fetch(url, { method: 'HEAD', redirect: 'follow', headers, signal });
    if (!answer.ok) return unparsable(`the server answers ${answer.status}`);
    const length = answer.headers.get('content-length');
    return parsed({ bytes: length === null ? null : Number(length) });
  } catch (error) {
    return unparsable(reasonOf(error as Error));
  }
}

/** fetch wraps the cause in "fetch failed". */
const reasonOf = ({ message, cause }: Error): string => (cause instanceof Error ? cause.message || message : message);
