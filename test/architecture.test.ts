// Imports go downwards only. The table below is the complete rule; a new folder or package needs a line here first.

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';

const APPLIANCE = join(import.meta.dirname, '../appliance');

interface Layer {
  /** Path prefix below appliance/; the longest that matches decides. */
  readonly at: string;
  readonly imports: readonly string[];
  readonly packages?: readonly string[];
  /** Built-in modules; `*` for all. Pure layers have none. */
  readonly node?: readonly string[];
}

const PURE = ['domain', 'codecs', 'boot', 'render', 'machines'];

const LAYERS: readonly Layer[] = [
  { at: 'domain', imports: ['domain'] },
  // Schemas are data, and checking one is a pure function.
  { at: 'domain/events', imports: ['domain'], packages: ['typebox'] },
  { at: 'codecs', imports: ['domain', 'codecs'] },
  // Keys, authentication codes and encryption are pure functions.
  { at: 'codecs/ipmi/session-crypto', imports: ['domain', 'codecs'], node: ['node:crypto'] },
  {
    at: 'documents',
    imports: ['domain', 'documents'],
    packages: ['typebox', 'js-yaml'],
    node: ['node:fs', 'node:path'],
  },
  { at: 'boot', imports: ['domain', 'codecs', 'boot', 'render', 'machines/transitions'] },
  { at: 'boot/boot-resolver', imports: ['domain', 'boot', 'inventory/fleet'] },
  {
    at: 'render',
    imports: ['domain', 'codecs', 'render', 'machines/transitions'],
    packages: ['diff', 'handlebars', 'js-yaml'],
  },
  { at: 'machines', imports: ['domain', 'machines', 'boot'] },
  { at: 'machines/commands', imports: ['domain', 'machines', 'store/change', 'store/session-store'] },
  // The digest of a command.
  { at: 'machines/execute', imports: ['domain', 'machines', 'store/store', 'store/change'], node: ['node:crypto'] },
  { at: 'machines/runner', imports: ['domain', 'machines', 'store/store'] },
  {
    at: 'machines/effects',
    imports: [
      ...['domain', 'machines', 'store/store', 'bmc/bmc', 'bmc/bmc-error', 'bmc/recorder', 'bmc/verified'],
      ...['bmc/access/network-boot', 'bmc/access/bmc-eligibility'],
    ],
  },
  {
    at: 'inventory',
    imports: ['domain', 'documents', 'inventory', 'store/store', 'store/change', 'boot/client-facts'],
    packages: ['typebox'],
    node: ['node:fs', 'node:path', 'node:crypto'],
  },
  {
    at: 'config',
    imports: ['domain', 'documents', 'inventory'],
    packages: ['typebox', 'js-yaml'],
    node: ['node:fs', 'node:path'],
  },
  {
    at: 'store',
    imports: ['domain', 'store'],
    packages: ['kysely', 'better-sqlite3'],
    node: ['node:fs', 'node:path', 'node:crypto', 'node:timers'],
  },
  { at: 'trail', imports: ['domain', 'trail', 'store/store'], node: ['node:crypto'] },
  {
    at: 'assets',
    imports: ['domain', 'documents', 'boot', 'assets'],
    packages: ['typebox', 'js-yaml'],
    node: ['*'],
  },
  { at: 'bmc', imports: ['domain', 'codecs', 'bmc'], packages: ['undici'], node: ['*'] },
  {
    at: 'bmc/access',
    imports: ['domain', 'bmc', 'identity/vault', 'store/store', 'store/bmc-store', 'trail/trail'],
    node: ['node:crypto'],
  },
  {
    at: 'work',
    imports: [
      ...['domain', 'boot', 'render', 'machines', 'work', 'inventory/fleet', 'assets/asset', 'assets/boot-contract'],
      ...['store/store', 'store/change', 'store/session-store'],
    ],
    packages: ['typebox'],
    node: ['node:crypto'],
  },
  {
    at: 'work/installers/nixos',
    imports: ['domain', 'render', 'boot', 'work/installers', 'assets'],
    packages: ['ssh2'],
    node: ['*'],
  },
  {
    at: 'net',
    imports: ['domain', 'net', 'inventory/fleet'],
    packages: ['fastify', 'koffi'],
    node: ['*'],
  },
  {
    at: 'servers',
    imports: [
      ...['domain', 'codecs', 'boot', 'render', 'net', 'servers', 'inventory/fleet', 'assets', 'trail', 'store/store'],
      ...['work/sessions', 'store/session-store'],
    ],
    packages: ['fastify', 'koffi'],
    node: ['*'],
  },
  {
    at: 'api',
    imports: [
      ...['domain', 'documents', 'boot', 'render', 'machines', 'inventory', 'store/store', 'assets/boot-contract'],
      ...['deliveries/renderings', 'store/bmc-store', 'bmc/bmc', 'bmc/access', 'identity', 'work'],
      ...['store/session-store', 'trail/diagnose', 'store/enrollment-store', 'net', 'api'],
    ],
    packages: ['fastify', 'typebox', '@fastify/type-provider-typebox', '@fastify/swagger'],
    node: ['*'],
  },
  {
    at: 'deliveries',
    imports: [
      ...['domain', 'render', 'deliveries', 'assets/template-files', 'work/sessions/reports', 'inventory/difference'],
      ...['inventory/fleet', 'store/store', 'store/rendering-store', 'identity/enrollment-records'],
    ],
    node: ['*'],
  },
  {
    at: 'identity',
    imports: [
      ...['domain', 'codecs', 'render', 'identity', 'inventory/fleet', 'machines/commands', 'machines/execute'],
      ...['store/store', 'store/change', 'store/enrollment-store', 'store/task-store'],
    ],
    node: ['*'],
  },
  { at: 'identity/vault', imports: ['domain', 'identity/vault'], node: ['node:fs', 'node:path', 'node:crypto'] },
  {
    at: 'servers/node-api',
    imports: [
      ...['domain', 'identity', 'net', 'servers/node-api', 'inventory/fleet', 'render/bundle'],
      ...['api/access', 'api/base-app', 'api/failed-attempts', 'store/store', 'store/enrollment-store'],
    ],
    packages: ['fastify', 'typebox'],
    node: ['*'],
  },
  {
    at: 'lab/rack',
    imports: [
      ...['domain', 'documents', 'lab/rack', 'assets/build-cache', 'assets/cpio', 'assets/debian-packages'],
      'inventory/schema',
    ],
    packages: ['typebox', 'js-yaml'],
    node: ['*'],
  },
  { at: 'lab/demo', imports: ['domain', 'lab', 'assets'], packages: ['js-yaml'], node: ['*'] },
  { at: 'assembly', imports: ['*'], packages: ['pino'], node: ['*'] },
  { at: 'main', imports: ['assembly', 'config'], packages: ['pino'] },
  { at: 'cli', imports: ['*'], packages: ['commander', 'csv-parse', 'undici', 'pino'], node: ['*'] },
];

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

  it('has no file longer than 400 lines', () => {
    const long = sources.filter((file) => readFileSync(join(APPLIANCE, file), 'utf8').split('\n').length > 401);
    expect(long).toEqual([]);
  });
});
