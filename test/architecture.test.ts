// Imports go downwards only, as the table in layers.ts defines.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LAYERS, type Layer, PURE, withFolderTable } from './layers.ts';

const APPLIANCE = join(import.meta.dirname, '../appliance');

const sources = readdirSync(APPLIANCE, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .sort();

const layerOf = (file: string): Layer | undefined =>
  LAYERS.filter(
    (layer) => file === `${layer.at}.ts` || file.startsWith(`${layer.at}/`) || file.startsWith(`${layer.at}.`),
  ).sort((a, b) => b.at.length - a.at.length)[0];

const importsOf = (text: string): string[] =>
  [
    ...text.matchAll(
      /(?:^|\n)\s*(?:import|export)[^'";]*?from\s*'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g,
    ),
  ].map((match) => match[1] ?? match[2] ?? match[3] ?? '');

const packageName = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');

function violations(file: string, text: string): string[] {
  const layer = layerOf(file);
  if (!layer) return [`${file} is in no layer of the table`];
  return importsOf(text).flatMap((specifier) => {
    if (specifier.startsWith('node:')) {
      const allowed = layer.node?.some(
        (name) => name === '*' || specifier === name || specifier.startsWith(`${name}/`),
      );
      return allowed ? [] : [`${file} uses ${specifier}`];
    }
    if (!specifier.startsWith('.')) {
      return layer.packages?.includes(packageName(specifier)) ? [] : [`${file} uses the package ${specifier}`];
    }
    const target = relative(APPLIANCE, join(APPLIANCE, dirname(file), specifier));
    const allowed = layer.imports.some((at) => at === '*' || target === `${at}.ts` || target.startsWith(`${at}/`));
    return allowed ? [] : [`${file} imports ${target}`];
  });
}

describe('the architecture', () => {
  it('matches the folder table of docs/ARCHITECTURE.md (npm run docs updates it)', () => {
    const document = readFileSync(join(APPLIANCE, '../docs/ARCHITECTURE.md'), 'utf8');
    expect(document).toBe(withFolderTable(document));
  });

  it('finds real files and imports', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.flatMap((file) => importsOf(readFileSync(join(APPLIANCE, file), 'utf8'))).length).toBeGreaterThan(
      50,
    );
  });

  it('reports forbidden imports', () => {
    expect(violations('domain/x.ts', "import { a } from '../store/store.ts';")).toEqual([
      'domain/x.ts imports store/store.ts',
    ]);
    expect(violations('boot/x.ts', "import { readFileSync } from 'node:fs';")).toEqual(['boot/x.ts uses node:fs']);
    expect(violations('servers/x.ts', "import type { A } from 'kysely';")).toEqual([
      'servers/x.ts uses the package kysely',
    ]);
    expect(violations('api/x.ts', "const s = await import('../store/sqlite/sqlite.ts');")).toEqual([
      'api/x.ts imports store/sqlite/sqlite.ts',
    ]);
    expect(violations('nowhere/x.ts', '')).toEqual(['nowhere/x.ts is in no layer of the table']);
  });

  it.each(sources)('%s imports only what its layer allows', (file) => {
    expect(violations(file, readFileSync(join(APPLIANCE, file), 'utf8'))).toEqual([]);
  });

  it.each(
    sources.filter(
      (file) =>
        PURE.includes(file.split('/')[0] ?? '') &&
        !file.startsWith('machines/runner') &&
        !file.startsWith('machines/effects'),
    ),
  )('%s has no clock, no randomness and no console', (file) => {
    const text = readFileSync(join(APPLIANCE, file), 'utf8');
    expect(text).not.toMatch(
      /Date\.now|new Date\(\)|Math\.random|console\.\w+\(|process\.|setTimeout|setInterval|randomUUID/,
    );
  });

  it('changes the lifecycle only with commit: the old store methods are not used', () => {
    const verbs = [
      ...['transition', 'armIntent', 'consumeIntent', 'revokeIntents', 'setHealth', 'putTicket', 'openSession'],
      ...['reopenSession', 'reportStep', 'endSession', 'endSessionsOf', 'takeSessionFile', 'putFacts', 'issueToken'],
      ...['redeemToken', 'repeatRedemption', 'renewCertificate', 'revokeIdentity', 'finishEffect', 'retryEffect'],
      'failEffect',
    ];
    const forbidden = new RegExp(`\\bstore\\??\\.(${verbs.join('|')})\\(|^  (${verbs.join('|')})\\(`, 'm');
    expect(forbidden.test('await store.armIntent(intent)')).toBe(true);
    const found = sources.filter((file) => forbidden.test(readFileSync(join(APPLIANCE, file), 'utf8')));
    expect(found).toEqual([]);
    const refreshing = sources.filter((file) => readFileSync(join(APPLIANCE, file), 'utf8').includes('refreshFleet'));
    expect(refreshing).toEqual([]);
  });

  /** Names that were replaced. docs/glossary.md has the terms in use. */
  const RETIRED = new RegExp(
    [
      ...['[Dd]esk\\b', 'Surroundings', 'LastingChoices', 'OnBehalf', '\\bAsker\\b', 'WorkRequest', 'answerableFor'],
      ...['[Hh]andOut', '\\bCrowd\\b', '\\bBells\\b', '[Ff]irstStage', '[Ww]ithhold', '\\bcall(?:s|ed)? off\\b'],
      ...['\\b(?:const|let|readonly) told\\b', 'EventOrigin', 'ImageShelf'],
    ].join('|'),
  );

  it('uses no retired term', () => {
    expect('class BootDesk {}').toMatch(RETIRED);
    const root = join(APPLIANCE, '..');
    const files = ['appliance', 'test', 'docs', 'boot-assets'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => /\.(?:ts|md|sh)$/.test(name) && name !== 'architecture.test.ts')
        .map((name) => join(folder, name)),
    );
    const found = files.flatMap((name) => {
      const [match] = RETIRED.exec(readFileSync(join(root, name), 'utf8')) ?? [];
      return match === undefined ? [] : [`${name}: ${match}`];
    });
    expect(found).toEqual([]);
  });

  it('has no file longer than 400 lines', () => {
    const long = sources.filter((file) => readFileSync(join(APPLIANCE, file), 'utf8').split('\n').length > 401);
    expect(long).toEqual([]);
  });
});
