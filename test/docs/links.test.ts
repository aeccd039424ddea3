// README, CONTRIBUTING and docs/ may name only what is there: files move, and nobody reads a page again for its links.

import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = join(import.meta.dirname, '../..');
const PAGES = ['README.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: ROOT }).sort()];

const exists = (path: string): boolean => existsSync(join(ROOT, path));
/** From the root, or from appliance/ as docs/ARCHITECTURE.md writes them. */
const isThere = (path: string): boolean => exists(path) || exists(`appliance/${path}`);

/** [words](target), without code blocks, where brackets mean something else. */
function linksIn(text: string): string[] {
  const prose = text.replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target ?? '');
}

const isRelative = (target: string): boolean => !/^(?:[a-z]+:|#)/.test(target);

const FOLDERS = 'appliance|test|docs|nixos|templates|boot-assets|inventory';
const PATH = new RegExp(String.raw`(?<![\w./-])(?:${FOLDERS})/[\w*{}/.-]*[\w*/}]`, 'g');

/** `test/FOLDER` and `appliance/**` stand for many files; `{a,b}` and `*` as well. */
const isPattern = (path: string): boolean => /[*{}]/.test(path) || /\/[A-Z]+(?:[./]|$)/.test(path);

function sourceFilesIn(text: string): string[] {
  return [...text.matchAll(/`([\w.-]+(?:\/[\w.-]+)+\.ts)`/g)].map(([, path]) => path ?? '');
}

describe.each(PAGES)('%s', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8');

  it('links only to files that exist', () => {
    const broken = linksIn(text)
      .filter(isRelative)
      .filter((target) => !exists(normalize(join(dirname(page), target.split('#')[0] ?? ''))));
    expect(broken).toEqual([]);
  });

  it('links only to headings that exist', () => {
    const broken = linksIn(text).filter((target) => {
      const [file = '', anchor] = target.split('#');
      if (anchor === undefined || !/^(?:[\w./-]+\.md)?$/.test(file)) return false;
      const named = file === '' ? page : normalize(join(dirname(page), file));
      return exists(named) && !anchorsOf(readFileSync(join(ROOT, named), 'utf8')).has(anchor);
    });
    expect(broken).toEqual([]);
  });

  it('names only paths that exist', () => {
    const named = (text.match(PATH) ?? []).filter((path) => !isPattern(path));
    expect([...new Set(named)].filter((path) => !isThere(path))).toEqual([]);
  });

  it('names only source files that exist', () => {
    const named = sourceFilesIn(text).filter((path) => !isPattern(path));
    expect([...new Set(named)].filter((path) => !isThere(path))).toEqual([]);
  });
});

/** As GitHub makes them: lower case, punctuation dropped, spaces to hyphens. */
function anchorsOf(text: string): Set<string> {
  return new Set(
    [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = '']) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}
