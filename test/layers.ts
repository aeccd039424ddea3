// Which folder may import what. docs/ARCHITECTURE.md shows this table, and test/architecture.test.ts applies it.
// A new folder, import or package needs a row here first.

import { existsSync } from 'node:fs';
import { join } from 'node:path';

export interface Layer {
  /** Path prefix below appliance/; the longest that matches decides. */
  readonly at: string;
  /** For docs/ARCHITECTURE.md. Omitted: an exception within the parent folder. */
  readonly holds?: string;
  readonly imports: readonly string[];
  readonly packages?: readonly string[];
  /** Built-in modules; `*` for all. Pure layers have none. */
  readonly node?: readonly string[];
}

export const PURE = ['domain', 'codecs', 'boot', 'render', 'machines', 'onboarding'];

export const LAYERS: readonly Layer[] = [
  { at: 'domain', holds: 'values and their parsers, states, intents, events, the error table', imports: ['domain'] },
  // Schemas are data, and checking one is a pure function.
  { at: 'domain/events', imports: ['domain'], packages: ['typebox'] },
  {
    at: 'codecs',
    holds: 'bytes ↔ values: DHCPv4, TFTP, IPMI, X.509, TPM 2.0, ISO 9660; each opens with its standard',
    imports: ['domain', 'codecs'],
  },
  // Keys, authentication codes and encryption are pure functions.
  { at: 'codecs/ipmi/session-crypto', imports: ['domain', 'codecs'], node: ['node:crypto'] },
  { at: 'codecs/tpm', imports: ['domain', 'codecs'], node: ['node:crypto'] },
  {
    at: 'documents',
    holds: 'YAML and JSON files, structure checks, nearest names',
    imports: ['domain', 'documents'],
    packages: ['typebox', 'js-yaml'],
    node: ['node:fs', 'node:path'],
  },
  {
    at: 'files',
    holds: 'files that no other user can redirect: owners, links, whole files',
    imports: ['domain', 'files'],
    node: ['node:fs', 'node:path', 'node:crypto'],
  },
  {
    at: 'boot',
    holds: 'client facts, the boot decision, leases, image access, replies and explain',
    imports: ['domain', 'codecs', 'boot', 'render', 'machines/transitions'],
  },
  { at: 'boot/boot-resolver', imports: ['domain', 'boot', 'inventory/fleet'] },
  {
    at: 'render',
    holds: 'everything a machine is installed from, as text ([rendering.md](rendering.md))',
    imports: ['domain', 'codecs', 'render', 'machines/transitions'],
    packages: ['diff', 'handlebars', 'js-yaml'],
  },
  {
    at: 'machines',
    holds: 'transitions, pure commands, the runner and effects',
    imports: ['domain', 'machines', 'boot'],
  },
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
    holds: 'files → checked declaration → plan; the fleet in memory',
    imports: [
      ...['domain', 'documents', 'files', 'inventory', 'proposals', 'store/store', 'store/change'],
      'boot/client-facts',
    ],
    packages: ['typebox'],
    node: ['node:fs', 'node:path', 'node:crypto'],
  },
  {
    at: 'proposals',
    holds: 'changes that wait for the approval of people ([mcp.md](mcp.md), [skus.md](skus.md))',
    imports: ['domain', 'proposals', 'store/proposal-store'],
    node: ['node:crypto'],
  },
  {
    at: 'config',
    holds: 'the site file',
    imports: [
      ...['domain', 'documents', 'inventory', 'identity/vault/confined-file', 'export/settings', 'config'],
      'providers/maas/settings',
    ],
    packages: ['typebox', 'js-yaml'],
    node: ['node:fs', 'node:path'],
  },
  {
    at: 'export',
    holds: 'events to webhooks, Loki and syslog: cursors, retries, dead letters ([export.md](export.md))',
    imports: ['domain', 'documents', 'export', 'identity/vault/private-file', 'store/store', 'store/export-store'],
    packages: ['typebox'],
    node: ['*'],
  },
  {
    at: 'store',
    holds: '`store.ts` is the interface, `change.ts` what a commit writes; SQL through Kysely, SQLite',
    imports: ['domain', 'files', 'store'],
    packages: ['kysely', 'better-sqlite3'],
    node: ['node:fs', 'node:path', 'node:crypto', 'node:timers'],
  },
  {
    at: 'trail',
    holds: 'what happened to each machine, as text and as a diagnosis',
    imports: ['domain', 'trail', 'store/store', 'store/change'],
    node: ['node:crypto'],
  },
  {
    at: 'assets',
    holds: 'boot files: where they come from, what they are, which machine may be sent to them',
    imports: ['domain', 'documents', 'files', 'boot', 'assets'],
    packages: ['typebox', 'js-yaml'],
    node: ['*'],
  },
  {
    at: 'self-check',
    holds: 'what is wrong with the appliance itself: files, disk, store, listeners, other DHCP servers, clock',
    imports: [
      ...['domain', 'self-check', 'assets/asset', 'assets/asset-name', 'assets/boot-contract', 'assets/built-images'],
      ...['assets/library', 'boot/loaders'],
    ],
    node: ['node:fs'],
  },
  {
    at: 'bmc',
    holds: 'BMC operations, IPMI and Redfish drivers, pacing, verified boot ([bmc.md](bmc.md))',
    imports: ['domain', 'codecs', 'bmc'],
    packages: ['undici'],
    node: ['*'],
  },
  {
    at: 'bmc/console',
    holds: 'shared consoles, their capture, and what machines said ([bmc.md](bmc.md))',
    imports: ['domain', 'bmc', 'files', 'store/store', 'store/change'],
    node: ['node:fs', 'node:path'],
  },
  {
    at: 'bmc/access',
    holds: 'the BMC of a machine: whether it may be used, which driver, which credentials',
    imports: ['domain', 'bmc', 'identity/vault', 'store/store', 'store/bmc-store', 'trail/trail'],
    node: ['node:crypto'],
  },
  {
    at: 'provisioning',
    holds: 'guards, orders, sessions of the service OS ([service-os.md](service-os.md))',
    imports: [
      ...[
        'domain',
        'boot',
        'render',
        'machines',
        'provisioning',
        'codecs/tpm',
        'codecs/iso9660',
        'inventory/fleet',
        'assets/asset',
        'assets/boot-contract',
      ],
      ...['store/store', 'store/change', 'store/session-store'],
    ],
    packages: ['typebox'],
    node: ['node:crypto'],
  },
  {
    at: 'provisioning/installers/nixos',
    holds: "NixOS's own installer, pulled or pushed ([nixos-install.md](nixos-install.md))",
    imports: ['domain', 'files', 'render', 'boot', 'provisioning/installers', 'assets'],
    packages: ['ssh2'],
    node: ['*'],
  },
  {
    at: 'onboarding',
    holds:
      'onboarding runs: decision, discovery, failure classes, the runner ([onboarding-runs.md](onboarding-runs.md))',
    imports: ['domain', 'onboarding', 'trail/diagnosis', 'inventory/fleet', 'store/store', 'store/change'],
  },
  {
    at: 'providers/native',
    holds: 'Coldiron itself as the provider of onboarding runs',
    imports: [
      ...['domain', 'onboarding', 'providers/native', 'provisioning', 'machines/execute', 'inventory/fleet'],
      ...['inventory/ownership', 'store/store', 'bmc/access/bmc-service', 'bmc/bmc', 'assets/boot-contract'],
    ],
  },
  {
    at: 'providers/maas',
    holds: 'an existing MAAS as the provider of onboarding runs ([maas.md](maas.md))',
    imports: [
      ...['domain', 'documents', 'onboarding', 'providers/maas', 'providers/native/node-writes', 'inventory/fleet'],
      ...['machines/commands', 'machines/execute', 'provisioning/node-work', 'render/installers/first-boot'],
      ...['render/templates', 'identity/vault', 'store/store'],
    ],
    packages: ['typebox'],
    node: ['node:http', 'node:https', 'node:fs', 'node:path'],
  },
  {
    at: 'net',
    holds: 'sockets, listeners, limits',
    imports: ['domain', 'net', 'inventory/fleet'],
    packages: ['fastify', 'koffi'],
    node: ['*'],
  },
  {
    at: 'servers',
    holds: 'DHCP, TFTP, HTTP boot: sockets only',
    imports: [
      ...['domain', 'codecs', 'boot', 'render', 'net', 'servers', 'inventory/fleet', 'assets', 'trail', 'store/store'],
      ...['provisioning/sessions', 'provisioning/media', 'store/session-store'],
    ],
    packages: ['fastify', 'koffi'],
    node: ['*'],
  },
  // The rows are plain data; only wire.ts and schemas/ know TypeBox, so that the CLI need not load it.
  {
    at: 'contract',
    holds: 'the operation table and the schemas of the API, shared by API and CLI ([api.md](api.md))',
    imports: ['domain', 'contract'],
  },
  { at: 'contract/wire', imports: ['contract'], packages: ['typebox'] },
  {
    at: 'contract/schemas',
    imports: ['domain', 'contract', 'bmc/bmc', 'inventory/schema'],
    packages: ['typebox'],
  },
  {
    at: 'allocations',
    holds: 'SSH keys of people, key sets, allocations of nodes ([allocations.md](allocations.md))',
    imports: [
      ...['domain', 'allocations', 'store/store', 'store/change', 'store/allocation-store', 'machines/commands'],
      ...['machines/execute', 'identity/task-queue'],
    ],
    packages: ['ssh2'],
    node: ['node:crypto'],
  },
  {
    at: 'terminals',
    holds:
      'terminals on nodes as the user of an allocation: streams, limits, records ([allocations.md](allocations.md))',
    imports: [
      ...['domain', 'terminals', 'contract/terminal-frames', 'allocations/access-changes', 'identity/node-eligibility'],
      ...['identity/node-peer', 'identity/task-queue', 'store/store', 'store/enrollment-store'],
    ],
    node: ['node:events', 'node:stream'],
  },
  {
    at: 'metrics',
    holds: 'counters, gauges and histograms, and their text for Prometheus ([monitoring.md](monitoring.md))',
    imports: ['domain', 'metrics', 'store/store', 'store/change', 'trail/trail'],
    node: ['node:perf_hooks'],
  },
  {
    at: 'api',
    holds: 'handlers, views, authentication, OpenAPI',
    imports: [
      ...['contract', 'store/request-store', 'store/change'],
      ...['domain', 'documents', 'boot', 'render', 'machines', 'inventory', 'store/store', 'assets/boot-contract'],
      ...['deliveries/renderings', 'store/bmc-store', 'bmc/bmc', 'bmc/access', 'identity', 'provisioning'],
      ...[
        'store/session-store',
        'trail',
        'store/enrollment-store',
        'store/export-store',
        'export/exports',
        'net',
        'api',
        'allocations',
        'store/allocation-store',
        'store/web-session-store',
        'terminals',
      ],
      'onboarding/onboardings',
      'proposals',
      'metrics/registry',
    ],
    packages: ['fastify', 'typebox', '@fastify/type-provider-typebox', '@fastify/swagger'],
    node: ['*'],
  },
  {
    at: 'mcp',
    holds: 'the tools for agents, over the Model Context Protocol ([mcp.md](mcp.md))',
    imports: ['domain', 'contract', 'api', 'mcp', 'store/store'],
    packages: ['fastify', 'typebox', '@modelcontextprotocol/server'],
    node: ['*'],
  },
  {
    at: 'deliveries',
    holds: 'what each node was given, operator templates, folders on disk',
    imports: [
      ...[
        'domain',
        'files',
        'render',
        'deliveries',
        'assets/template-files',
        'provisioning/sessions/reports',
        'inventory/difference',
      ],
      ...['inventory/fleet', 'store/store', 'store/rendering-store', 'identity/enrollment-records'],
    ],
    node: ['*'],
  },
  {
    at: 'identity',
    holds: 'authority, enrollment, tokens, bundles, tasks, heartbeats',
    imports: [
      ...['domain', 'files', 'codecs', 'render', 'identity', 'inventory/fleet', 'machines/commands', 'machines/record'],
      'machines/execute',
      ...['store/store', 'store/change', 'store/enrollment-store', 'store/task-store'],
    ],
    node: ['*'],
  },
  {
    at: 'identity/vault',
    holds: 'encrypted secrets and private files',
    imports: ['domain', 'files', 'identity/vault'],
    node: ['node:fs', 'node:path', 'node:crypto'],
  },
  {
    at: 'servers/node-api',
    holds: 'what nodes call over mutual TLS',
    imports: [
      ...['domain', 'identity', 'net', 'servers/node-api', 'inventory/fleet', 'render/bundle'],
      ...['api/access', 'api/base-app', 'api/failed-attempts', 'store/store', 'store/enrollment-store'],
      ...['trail/trail', 'terminals/terminals'],
    ],
    packages: ['fastify', 'typebox'],
    node: ['*'],
  },
  {
    at: 'lab/rack',
    holds: 'virtual machines with real BMCs and TPMs',
    imports: [
      ...['domain', 'documents', 'lab/rack', 'assets/build-cache', 'assets/cpio', 'assets/debian-packages'],
      'inventory/schema',
    ],
    packages: ['typebox', 'js-yaml'],
    node: ['*'],
  },
  {
    at: 'lab/demo',
    holds: 'what `npm start` runs',
    imports: ['domain', 'lab', 'assets'],
    packages: ['js-yaml'],
    node: ['*'],
  },
  {
    at: 'web',
    holds: 'serves the web page from memory ([web.md](web.md))',
    imports: ['web', 'api/base-app', 'api/errors'],
    packages: ['fastify'],
    node: ['*'],
  },
  {
    at: 'web/page',
    holds: 'the web page: runs in browsers, with the types of the contract',
    imports: ['web/page', 'contract', 'domain', 'machines/transitions'],
    packages: ['preact', 'htm', '@preact/signals', 'qrcode-generator', 'js-yaml', 'typebox'],
  },
  { at: 'assembly', holds: 'opens the subsystems, one file each', imports: ['*'], packages: ['pino'], node: ['*'] },
  { at: 'main', holds: 'the composition root', imports: ['assembly', 'config'], packages: ['pino'] },
  {
    at: 'cli',
    holds: 'one file per verb; clients of the API or of pure functions',
    imports: ['*'],
    packages: ['commander', 'csv-parse', 'undici', 'pino'],
    node: ['*'],
  },
];

/** A row may allow a single file of another folder. */
const pathOf = (name: string): string =>
  existsSync(join(import.meta.dirname, '../appliance', `${name}.ts`)) ? `${name}.ts` : name;

const BEGIN = '<!-- folders -->';
const END = '<!-- /folders -->';

/** docs/ARCHITECTURE.md with its folder table written again from the rows above. */
export function withFolderTable(document: string): string {
  const rows = LAYERS.flatMap(({ at, holds, imports, packages = [] }) => {
    if (holds === undefined) return [];
    const others = imports.filter((name) => name !== at).map((name) => (name === '*' ? 'everything' : pathOf(name)));
    return [`| \`${at}\` | ${holds} | ${[...others, ...packages].join(', ')} |`];
  });
  const table = ['| folder | content | may import |', '|---|---|---|', ...rows].join('\n');
  const [before, rest] = document.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error(`the document has no ${BEGIN} … ${END}`);
  return `${before}${BEGIN}\n${table}\n${END}${after}`;
}
