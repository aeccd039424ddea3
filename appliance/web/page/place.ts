// Paths of the page and their parameters. Pure.

import { PAGE_PATHS, type PageName } from './page-paths.ts';

export interface Place {
  readonly page: PageName | null;
  readonly params: Readonly<Record<string, string>>;
  readonly path: string;
  readonly query: URLSearchParams;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The parameters when the path matches the pattern. */
export function matchPath(pattern: string, path: string): Record<string, string> | null {
  const wanted = pattern.split('/').filter(Boolean);
  const given = path.split('/').filter(Boolean);
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = given[at] ?? '';
    if (part.startsWith(':')) params[part.slice(1)] = decoded(value);
    else if (part !== value) return null;
  }
  return params;
}

export function placeOf(url: URL): Place {
  const names = Object.keys(PAGE_PATHS) as PageName[];
  for (const page of names) {
    const params = matchPath(PAGE_PATHS[page], url.pathname);
    if (params) return { page, params, path: url.pathname, query: url.searchParams };
  }
  return { page: null, params: {}, path: url.pathname, query: url.searchParams };
}

/** The path of a page with its parameters filled in, and a query without empty values. */
export function pathTo(
  page: PageName,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, string | null | undefined>> = {},
): string {
  const path = PAGE_PATHS[page].replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  return path + queryText(query);
}

function queryText(query: Readonly<Record<string, string | null | undefined>>): string {
  const kept = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return kept.length === 0 ? '' : `?${new URLSearchParams(kept)}`;
}
