// Reads a YAML or JSON file as one value. Both reject duplicate keys.

import { open } from 'node:fs/promises';
import { load, YAMLException } from 'js-yaml';
import { readPlainYaml } from './plain-yaml.ts';

export type ReadDocument =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  /** One line that starts with the file name, followed by line:column if known. */
  | { readonly ok: false; readonly problem: string };

/** A hundred thousand nodes are 47 MB. A much larger file is a mistake, and would be in memory several times. */
const MAX_FILE_BYTES = 128 * 1024 * 1024;
/** A hundred thousand nodes are 2,500,000 values. */
const MAX_EXPANDED = 4_000_000;
const MAX_DEPTH = 1000;

export async function readDocument(file: string): Promise<ReadDocument> {
  const text = await readText(file, MAX_FILE_BYTES);
  return typeof text === 'string' ? parseDocument(text, file) : { ok: false, problem: `${file}: ${text.problem}` };
}

/** The text of a file of at most `maxBytes`, or the problem. */
export async function readText(file: string, maxBytes: number): Promise<string | { problem: string }> {
  try {
    await using handle = await open(file);
    const stat = await handle.stat();
    if (!stat.isFile()) return { problem: 'not a file' };
    if (stat.size > maxBytes) return { problem: `has ${stat.size} bytes; the limit is ${maxBytes}: split the file` };
    return new TextDecoder('utf-8', { fatal: true }).decode(await handle.readFile());
  } catch (error) {
    return { problem: readingProblem(error) };
  }
}

function readingProblem(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'no such file';
    case 'EACCES':
      return 'permission denied';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'is not UTF-8 text';
    default:
      return `cannot be read: ${message}`;
  }
}

/** Pure. `file` is used in problems and to distinguish JSON from YAML. */
export function parseDocument(text: string, file: string): ReadDocument {
  const rejected = (problem: string): ReadDocument => ({ ok: false, problem: `${file}${problem}` });
  let value: unknown;
  try {
    value = file.endsWith('.json') ? parseJson(text) : (readPlainYaml(text) ?? load(text));
  } catch (error) {
    return rejected(syntaxProblem(error));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return rejected(': must be a mapping of sections (nodes: …, networks: …)');
  }
  // Without an anchor nothing expands: the file size is the limit.
  if (text.includes('&') && expandedSize(value, new Map(), 0) > MAX_EXPANDED) {
    return rejected(`: its aliases expand to more than ${MAX_EXPANDED} values; write the values without aliases`);
  }
  return { ok: true, value: value as Record<string, unknown> };
}

/** Parses strict JSON, then reads it again as YAML to detect duplicate keys: JSON.parse silently keeps the last one. */
function parseJson(text: string): unknown {
  JSON.parse(text);
  // Outside strings a tab is white space; inside strings JSON requires an escape. YAML rejects tabs as indentation.
  return load(text.replaceAll('\t', ' '));
}

function syntaxProblem(error: unknown): string {
  if (error instanceof YAMLException) {
    if (error.reason.includes('the input is empty')) return ': is empty; write {} to declare nothing';
    const place = error.mark ? `:${error.mark.line + 1}:${error.mark.column + 1}` : '';
    return `${place}: not YAML: ${oneLine(error.reason)}`;
  }
  const message = error instanceof Error ? error.message : String(error);
  const place = /\(line (\d+) column (\d+)\)/.exec(message);
  return `${place ? `:${place[1]}:${place[2]}` : ''}: not JSON: ${oneLine(message)}`;
}

const oneLine = (text: string): string => text.replace(/[^\x20-\x7e]+/g, ' ').slice(0, 200);

/**
 * The number of values after alias expansion: a few lines of nested aliases expand to billions, and an alias to its own parent
 * is infinite. Each mapping and list is visited once, so counting is cheap.
 */
function expandedSize(value: unknown, sizes: Map<object, number>, depth: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  if (depth > MAX_DEPTH) return Number.POSITIVE_INFINITY;
  // Until it is counted: an alias that reaches it now is inside it.
  sizes.set(value, Number.POSITIVE_INFINITY);
  let size = 1;
  for (const inner of Object.values(value)) size += expandedSize(inner, sizes, depth + 1);
  sizes.set(value, size);
  return size;
}
