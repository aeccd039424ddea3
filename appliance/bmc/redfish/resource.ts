// Readers for untrusted JSON of any shape. A value of an unexpected type counts as missing.

export type Resource = Readonly<Record<string, unknown>>;

const isResource = (value: unknown): value is Resource =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const asResource = (value: unknown): Resource | null => (isResource(value) ? value : null);

/** Null where any step is missing. Only own properties count, never inherited ones. */
function valueAt(from: unknown, path: readonly string[]): unknown {
  let value = from;
  for (const key of path) {
    const resource = asResource(value);
    value = resource && Object.hasOwn(resource, key) ? resource[key] : null;
  }
  return value;
}

export const resourceAt = (from: unknown, ...path: readonly string[]): Resource | null =>
  asResource(valueAt(from, path));

export function textAt(from: unknown, ...path: readonly string[]): string | null {
  const value = valueAt(from, path);
  return typeof value === 'string' && value.trim() !== '' ? value.trim() : null;
}

export function numberAt(from: unknown, ...path: readonly string[]): number | null {
  const value = valueAt(from, path);
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

export function booleanAt(from: unknown, ...path: readonly string[]): boolean | null {
  const value = valueAt(from, path);
  return typeof value === 'boolean' ? value : null;
}

export function listAt(from: unknown, ...path: readonly string[]): readonly unknown[] {
  const value = valueAt(from, path);
  return Array.isArray(value) ? value : [];
}

export const textsAt = (from: unknown, ...path: readonly string[]): string[] =>
  listAt(from, ...path).filter((value) => typeof value === 'string');

export const has = (from: unknown, ...path: readonly string[]): boolean => valueAt(from, path) !== null;

/** The path of a link. */
export const linkAt = (from: unknown, ...path: readonly string[]): string | null =>
  pathOf(textAt(from, ...path, '@odata.id'));

export const linksAt = (from: unknown, ...path: readonly string[]): string[] =>
  listAt(from, ...path).flatMap((entry) => linkAt(entry) ?? []);

/**
 * Only the path of a URL: whichever host it names, requests go to the known BMC. iLO writes its own host name into every
 * Location.
 */
export function pathOf(address: string | null): string | null {
  if (address === null || !URL.canParse(address, 'https://bmc')) return null;
  const { protocol, pathname, search } = new URL(address, 'https://bmc');
  return protocol === 'https:' || protocol === 'http:' ? `${pathname}${search}` : null;
}

export const lastSegment = (path: string): string => path.replace(/\/+$/, '').split('/').at(-1) ?? '';
