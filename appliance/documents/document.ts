// One file as one value. YAML for people, JSON for programs; both refuse a key that is given twice.

import { open } from 'node:fs/promises';
import { load, YAMLException } from 'js-yaml';
import { readPlainYaml } from './plain-yaml.ts';

export type ReadDocument =
  | { readonly ok: true; readonly value: Readonly<Record<string, unknown>> }
  /** One line that starts with the file, and with line:column where there is one. */
  | { readonly ok: false; readonly problem: string };

/** Ten thousand nodes are 4 MB. A file far beyond that is a mistake, and would be held in memory several times over. */
const LARGEST_FILE = 32 * 1024 * 1024;
/** Ten thousand nodes are a quarter of a million values. */
const MOST_UNFOLDED = 4_000_000;
const DEEPEST = 1000;

export async function readDocument(file: string): Promise<ReadDocument> {
  const text = await readText(file, LARGEST_FILE);
  return typeof text === 'string' ? parseDocument(text, file) : { ok: false, problem: `${file}: ${text.problem}` };
}

/** A text of at most so many bytes, or why there is none. */
export async function readText(file: string, largest: number): Promise<string | { problem: string }> {
  try {
    await using handle = await open(file);
    const stat = await handle.stat();
    if (!stat.isFile()) return { problem: 'not a file' };
    if (stat.size > largest) return { problem: `has ${stat.size} bytes; a file here has at most ${largest}, split it` };
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
      return 'may not be read by this user';
    case 'ERR_ENCODING_INVALID_ENCODED_DATA':
      return 'is not UTF-8 text';
    default:
      return `cannot be read: ${message}`;
  }
}

/** Pure. `file` names it in problems and tells JSON from YAML. */
export function parseDocument(text: string, file: string): ReadDocument {
  const refused = (problem: string): ReadDocument => ({ ok: false, problem: `${file}${problem}` });
  let value: unknown;
  try {
    value = file.endsWith('.json') ? parseJson(text) : (readPlainYaml(text) ?? load(text));
  } catch (error) {
    return refused(syntaxProblem(error));
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused(': must be a mapping of sections (nodes: …, networks: …)');
  }
  // Without an anchor nothing can unfold: the file's own size is the bound.
  if (text.includes('&') && unfoldedSize(value, new Map(), 0) > MOST_UNFOLDED) {
    return refused(`: its aliases unfold to more than ${MOST_UNFOLDED} values; write out what is meant`);
  }
  return { ok: true, value: value as Record<string, unknown> };
}

/** JSON proper, read a second time as the YAML that it also is: JSON.parse lets the last of two equal keys win. */
function parseJson(text: string): unknown {
  JSON.parse(text);
  // Outside strings a tab is white space; inside them JSON allows it only escaped. YAML refuses it as indentation.
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
 * How many values a reader walks over: a few lines of aliases to aliases unfold to billions, and an alias to its own
 * parent to endlessly many. Each mapping and list is counted once, so the count itself is cheap.
 */
function unfoldedSize(value: unknown, sizes: Map<object, number>, depth: number): number {
  if (typeof value !== 'object' || value === null) return 1;
  const known = sizes.get(value);
  if (known !== undefined) return known;
  if (depth > DEEPEST) return Number.POSITIVE_INFINITY;
  // Until it is counted: whoever meets it now is inside of it.
  sizes.set(value, Number.POSITIVE_INFINITY);
  let size = 1;
  for (const inner of Object.values(value)) size += unfoldedSize(inner, sizes, depth + 1);
  sizes.set(value, size);
  return size;
}
