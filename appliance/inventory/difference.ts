// Lists the changes of an object in the notation of the files: `interfaces[0].address: 10.0.100.50 -> 10.0.100.51`.

import { createHash } from 'node:crypto';
import { byteSizeText } from '../domain/byte-size.ts';
import type { Json } from '../domain/event.ts';
import { type Prefix, prefixText } from '../domain/ipv4.ts';
import { shown } from '../domain/parsed.ts';

const MAX_LINES = 20;

export function sameValue(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) {
    if (!Array.isArray(a) || !Array.isArray(b) || a.length !== b.length) return false;
    for (let at = 0; at < a.length; at++) if (!sameValue(a[at], b[at])) return false;
    return true;
  }
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  let more = 0;
  for (const key in left) {
    const other = right[key];
    if (!sameValue(left[key], other) || (other === undefined && !Object.hasOwn(right, key))) return false;
    more += 1;
  }
  for (const _ in right) more -= 1;
  return more === 0;
}

/** A domain object in the notation of a file: prefixes as text, keys in snake case, a node's host name as its name. */
export function fileShape(value: unknown): Json {
  if (Array.isArray(value)) return value.map(fileShape);
  if (typeof value !== 'object' || value === null) return value as Json;
  if ('network' in value && 'length' in value) return prefixText(value as Prefix);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]): [string, Json] => {
      if (key === 'hostname' && !('name' in value)) return ['name', inner as Json];
      // Operators choose the keys of labels: they stay unchanged.
      if (key === 'labels') return [key, inner as Json];
      const fileField = FILE_FIELDS[key];
      return fileField && inner !== null ? [fileField.key, fileField.text(inner)] : [snakeCase(key), fileShape(inner)];
    }),
  );
}

/** Fields with another notation in files. A script is shown as its SHA-256, not as text. */
const FILE_FIELDS: Readonly<Record<string, { readonly key: string; readonly text: (value: unknown) => Json }>> = {
  minBytes: { key: 'min_size', text: (bytes) => byteSizeText(Number(bytes)) },
  maxBytes: { key: 'max_size', text: (bytes) => byteSizeText(Number(bytes)) },
  swapMegabytes: { key: 'swap', text: (megabytes) => (megabytes === 0 ? null : `${megabytes}MiB`) },
  script: { key: 'script', text: (script) => `sha256:${sha256Of(String(script))}` },
};

const sha256Of = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 32);

export function difference(before: Json, after: Json): string[] {
  const lines: string[] = [];
  collect(before, after, '', lines);
  if (lines.length <= MAX_LINES) return lines;
  return [...lines.slice(0, MAX_LINES), `and ${lines.length - MAX_LINES} more`];
}

function collect(before: Json, after: Json, path: string, lines: string[]): void {
  if (sameValue(before, after)) return;
  if (isRecord(before) && isRecord(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      collect(before[key] ?? null, after[key] ?? null, path === '' ? key : `${path}.${key}`, lines);
    }
  } else if (isList(before) && isList(after) && [...before, ...after].some((item) => typeof item === 'object')) {
    for (let at = 0; at < Math.max(before.length, after.length); at++) {
      collect(before[at] ?? null, after[at] ?? null, `${path}[${at}]`, lines);
    }
  } else {
    lines.push(`${path}: ${valueText(before)} -> ${valueText(after)}`);
  }
}

function valueText(value: Json): string {
  if (value === null || value === '' || (isList(value) && value.length === 0)) return '(none)';
  if (isList(value)) return shown(value.map(valueText).join(', '));
  return shown(value);
}

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
const isRecord = (value: Json): value is { readonly [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const snakeCase = (key: string): string => key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
