// Imports go down only. The table below is the whole rule; a new folder or package needs a line here first.

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

const PURE = ['domain', 'codecs', 'policy', 'render', 'lifecycle'];

const LAYERS: readonly Layer[] = [
  { at: 'domain', imports: ['domain'] },
  { at: 'codecs', imports: ['domain', 'codecs'] },
  // Keys, authentication codes and encryption: arithmetic, and nobody should write it again.
  { at: 'codecs/ipmi/session-crypto', imports: ['domain', 'codecs'], node: ['node:crypto'] },
  { at: 'policy', imports: ['domain', 'codecs', 'policy'] },
  {
    at: 'render',
    imports: ['domain', 'codecs', 'policy', 'render', 'lifecycle/transitions'],
    packages: ['handlebars', 'js-yaml'],
  },
  { at: 'lifecycle', imports: ['domain', 'lifecycle', 'policy'] },
  { at: 'lifecycle/runner', imports: ['domain', 'lifecycle', 'store/store'] },
  {
    at: 'lifecycle/effects',
    imports: [
      'domain',
      'lifecycle',
      'store/store',
      'bmc/bmc',
      'bmc/bmc-error',
      'bmc/recorder',
      'bmc/verified',
      'bmc-desk/network-boot',
      'bmc-desk/standing',
    ],
  },
  {
    at: 'inventory',
    imports: ['domain', 'inventory', 'store/store', 'policy/client-facts'],
    packages: ['typebox', 'js-yaml'],
    node: ['node:fs', 'node:path', 'node:crypto'],
  },
  { at: 'config', imports: ['domain', 'inventory'], packages: ['typebox', 'js-yaml'], node: ['node:fs', 'node:path'] },
  {
    at: 'store',
    imports: ['domain', 'store'],
    packages: ['kysely', 'better-sqlite3'],
    node: ['node:fs', 'node:path', 'node:crypto', 'node:timers'],
  },
  { at: 'vault', imports: ['domain', 'vault'], node: ['node:fs', 'node:path', 'node:crypto'] },
  { at: 'trail', imports: ['domain', 'trail', 'store/store'], node: ['node:crypto'] },
  {
    at: 'assets',
    imports: [
      ...['domain', 'policy', 'assets', 'render/boot-images'],
      ...['inventory/document', 'inventory/structure', 'inventory/nearest-name'],
    ],
    packages: ['typebox', 'js-yaml'],
    node: ['*'],
  },
  { at: 'bmc', imports: ['domain', 'codecs', 'bmc'], packages: ['undici'], node: ['*'] },
  {
    at: 'bmc-desk',
    imports: ['domain', 'bmc', 'bmc-desk', 'vault', 'store/store', 'store/bmc-store', 'trail/trail'],
    node: ['node:crypto'],
  },
  {
    at: 'deploy',
    imports: [
      ...['domain', 'policy', 'render', 'lifecycle', 'deploy', 'inventory/fleet', 'assets/asset'],
      ...['assets/boot-contract', 'store/store', 'nixos-install/order'],
    ],
    node: ['node:crypto'],
  },
  {
    at: 'session',
    imports: [
      ...['domain', 'policy', 'render', 'lifecycle', 'deploy', 'session', 'store/store', 'store/session-store'],
      'nixos-install',
    ],
    packages: ['typebox'],
    node: ['node:crypto'],
  },
  {
    at: 'servers',
    imports: [
      ...['domain', 'codecs', 'policy', 'render', 'servers', 'inventory/fleet', 'assets', 'trail', 'store/store'],
      ...['session', 'store/session-store'],
    ],
    packages: ['fastify', 'koffi'],
    node: ['*'],
  },
  {
    at: 'api',
    imports: [
      'domain',
      'policy',
      'render',
      'lifecycle',
      'inventory',
      'store/store',
      'assets/boot-contract',
      'renderings/renderings',
      'store/bmc-store',
      'bmc/bmc',
      'bmc-desk',
      'vault/private-file',
      'deploy',
      'store/session-store',
      'trail/diagnose',
      'enrollment',
      'store/enrollment-store',
      'api',
    ],
    packages: ['fastify', 'typebox', '@fastify/type-provider-typebox', '@fastify/swagger'],
    node: ['*'],
  },
  {
    at: 'renderings',
    imports: [
      ...['domain', 'render', 'renderings', 'assets/template-files', 'session/reports', 'inventory/difference'],
      ...['inventory/fleet', 'store/store', 'store/rendering-store'],
      'enrollment/enrollment-records',
    ],
    node: ['*'],
  },
  {
    at: 'enrollment',
    imports: [
      ...['domain', 'codecs', 'render', 'enrollment', 'inventory/fleet'],
      ...['store/store', 'store/enrollment-store', 'store/task-store', 'vault/private-file'],
    ],
    node: ['*'],
  },
  {
    at: 'node-api',
    imports: [
      ...['domain', 'enrollment', 'node-api', 'inventory/fleet', 'render/bundle', 'servers/listen', 'servers/repeat'],
      ...['api/access', 'api/base-app', 'api/failed-attempts', 'store/store', 'store/enrollment-store'],
    ],
    packages: ['fastify', 'typebox'],
    node: ['*'],
  },
  {
    at: 'rack',
    imports: [
      ...['domain', 'rack', 'assets/build-cache', 'assets/cpio', 'assets/debian-packages'],
      ...['inventory/document', 'inventory/schema', 'inventory/structure'],
    ],
    packages: ['typebox', 'js-yaml'],
    node: ['*'],
  },
  {
    at: 'nixos-install',
    imports: ['domain', 'render', 'nixos-install', 'assets'],
    packages: ['ssh2'],
    node: ['*'],
  },
  { at: 'demo', imports: ['domain', 'rack', 'assets', 'demo'], packages: ['js-yaml'], node: ['*'] },
  { at: 'main', imports: ['*'], packages: ['pino', 'fastify'], node: ['*'] },
  { at: 'cli', imports: ['*'], packages: ['commander', 'undici', 'pino'], node: ['*'] },
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
  it('is not empty: the table is applied to real files', () => {
    expect(sources.length).toBeGreaterThan(20);
    expect(sources.flatMap((file) => importsOf(readFileSync(join(APPLIANCE, file), 'utf8'))).length).toBeGreaterThan(
      50,
    );
  });

  it('sees what it forbids', () => {
    expect(violations('domain/x.ts', "import { a } from '../store/store.ts';")).toEqual([
      'domain/x.ts imports store/store.ts',
    ]);
    expect(violations('policy/x.ts', "import { readFileSync } from 'node:fs';")).toEqual(['policy/x.ts uses node:fs']);
    expect(violations('servers/x.ts', "import type { A } from 'kysely';")).toEqual([
      'servers/x.ts uses the package kysely',
    ]);
    expect(violations('api/x.ts', "const s = await import('../store/sqlite.ts');")).toEqual([
      'api/x.ts imports store/sqlite.ts',
    ]);
    expect(violations('nowhere/x.ts', '')).toEqual(['nowhere/x.ts is in no layer of the table']);
  });

  it.each(sources)('%s imports only what its layer may', (file) => {
    expect(violations(file, readFileSync(join(APPLIANCE, file), 'utf8'))).toEqual([]);
  });

  it.each(
    sources.filter(
      (file) =>
        PURE.includes(file.split('/')[0] ?? '') &&
        !file.startsWith('lifecycle/runner') &&
        !file.startsWith('lifecycle/effects'),
    ),
  )('%s has no clock, no randomness and no console', (file) => {
    const text = readFileSync(join(APPLIANCE, file), 'utf8');
    expect(text).not.toMatch(
      /Date\.now|new Date\(\)|Math\.random|console\.\w+\(|process\.|setTimeout|setInterval|randomUUID/,
    );
  });

  it('keeps every file readable: none past 400 lines', () => {
    const long = sources.filter((file) => readFileSync(join(APPLIANCE, file), 'utf8').split('\n').length > 401);
    expect(long).toEqual([]);
  });
});
