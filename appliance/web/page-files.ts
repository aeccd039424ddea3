// Every file that the page loads, in memory. The list is made from the imports of its first module, so a request can only name
// what the page uses: no path of a request reaches the file system.

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, extname, join, posix } from 'node:path';
import { gzipSync } from 'node:zlib';
import { type DocumentParts, documentText } from './document.ts';
import { PACKAGE_FILES, PACKAGE_MODULES } from './packages.ts';
import { withoutTypes } from './strip-types.ts';

const APPLIANCE = join(import.meta.dirname, '..');
const PACKAGES = join(APPLIANCE, '../node_modules');
const FIRST_MODULE = 'web/page/main.ts';
const STYLES = 'web/page/styles';
/** What a module of the page may import, apart from the page: data without dependencies. */
const SHARED_FOLDERS = ['web/page/', 'contract/', 'domain/', 'machines/transitions.ts'];

export interface PageFile {
  readonly type: string;
  readonly body: Buffer;
  /** Made at the first request that accepts it. */
  readonly zipped: () => Buffer;
}

export interface PageFiles {
  readonly document: PageFile;
  readonly etag: string;
  /** For the content security policy. */
  readonly importMapHash: string;
  /** By path below `/ui/`. The path begins with a digest of all files, so browsers may keep each for ever. */
  readonly files: ReadonlyMap<string, PageFile>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.ts': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.wasm': 'application/wasm',
};

const sha256 = (data: string | Buffer) => createHash('sha256').update(data);

function pageFile(name: string, content: string | Buffer): PageFile {
  const body = Buffer.from(content);
  let zipped: Buffer | null = null;
  return {
    type: TYPES[extname(name)] ?? 'application/octet-stream',
    body,
    zipped: () => {
      zipped ??= gzipSync(body, { level: 9 });
      return zipped;
    },
  };
}

const STATIC_IMPORT = /(?:^|\n)\s*(?:import|export)\b[^'";]*?\bfrom\s*'([^']+)'|(?:^|\n)\s*import\s+'([^']+)'/g;
const LAZY_IMPORT = /\bimport\(\s*'([^']+)'\s*\)/g;

function importsOf(name: string, text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap((match) => {
    const specifier = match[1] ?? match[2] ?? '';
    if (specifier.startsWith('.')) return [posix.join(dirname(name), specifier)];
    if (Object.hasOwn(PACKAGE_MODULES, specifier)) return [];
    throw new Error(`${name} imports ${specifier}, which web/packages.ts does not list`);
  });
}

interface Modules {
  /** By path below appliance/. */
  readonly texts: ReadonlyMap<string, string>;
  /** Those that the first module needs before it runs; the others are loaded with the page that needs them. */
  readonly first: readonly string[];
}

function readModules(): Modules {
  const texts = new Map<string, string>();
  const withImports = (start: readonly string[]): string[] => {
    const reached: string[] = [];
    const waiting = [...start];
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      if (texts.has(name)) continue;
      if (!SHARED_FOLDERS.some((folder) => name?.startsWith(folder))) {
        throw new Error(`a module of the page imports ${name}, which is not made for browsers`);
      }
      const text = withoutTypes(readFileSync(join(APPLIANCE, name), 'utf8'));
      texts.set(name, text);
      reached.push(name);
      waiting.push(...importsOf(name, text, STATIC_IMPORT));
    }
    return reached;
  };
  const lazyOf = (names: readonly string[]): string[] =>
    names.flatMap((name) => importsOf(name, texts.get(name) ?? '', LAZY_IMPORT));

  const first = withImports([FIRST_MODULE]);
  for (let more = withImports(lazyOf(first)); more.length > 0; ) more = withImports(lazyOf(more));
  return { texts, first };
}

export function readPageFiles(): PageFiles {
  const { texts, first } = readModules();
  const styles = readdirSync(join(APPLIANCE, STYLES))
    .toSorted()
    .map((name) => `${STYLES}/${name}`);
  const packages = [...new Set([...Object.values(PACKAGE_MODULES), ...PACKAGE_FILES])];
  const contents = new Map<string, string | Buffer>([
    ...texts,
    ...styles.map((name) => [name, readFileSync(join(APPLIANCE, name))] as const),
    ...packages.map((name) => [`npm/${name}`, readFileSync(join(PACKAGES, name))] as const),
  ]);
  const digest = digestOf(contents);
  const importMap = JSON.stringify({
    imports: Object.fromEntries(
      Object.entries(PACKAGE_MODULES).map(([name, file]) => [name, `/ui/${digest}/npm/${file}`]),
    ),
  });
  const parts: DocumentParts = {
    ...{ base: `/ui/${digest}`, importMap, styles, first: FIRST_MODULE },
    preloaded: [...first, ...Object.values(PACKAGE_MODULES).map((file) => `npm/${file}`)],
  };
  const text = documentText(parts);
  return {
    document: pageFile('index.html', text),
    etag: `"${sha256(text).digest('hex').slice(0, 32)}"`,
    importMapHash: `sha256-${sha256(importMap).digest('base64')}`,
    files: new Map([...contents].map(([name, content]) => [`${digest}/${name}`, pageFile(name, content)])),
  };
}

const DIGEST_LENGTH = 16;

function digestOf(contents: ReadonlyMap<string, string | Buffer>): string {
  const lines = [...contents].map(([name, content]) => `${name} ${sha256(content).digest('hex')}`);
  return sha256(lines.toSorted().join('\n')).digest('hex').slice(0, DIGEST_LENGTH);
}
