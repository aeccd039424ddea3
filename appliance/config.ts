// coldiron.yaml: read once at start, checked as a whole, and handed out in slices. Inventory sections may stand in it
// beside its own keys; they become the source named "site".

import { access, constants, glob, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type Static, Type } from 'typebox';
import { readDocument } from './documents/document.ts';
import { type Report, type Sound, structureReader } from './documents/structure.ts';
import { ColdironError } from './domain/errors.ts';
import { HOUR, SECOND } from './domain/instant.ts';
import { contains, type Prefix, parseIpv4, parsePrefix } from './domain/ipv4.ts';
import { mustParse, type Parsed, parsed, shown, unparsable } from './domain/parsed.ts';
import { type WithScripts, withScripts } from './inventory/bootstrap-scripts.ts';
import type { RawSource } from './inventory/read-files.ts';
import { INVENTORY_SECTIONS } from './inventory/schema.ts';

export interface ListenAddress {
  readonly address: string;
  /** 0: any free one. */
  readonly port: number;
}

export interface TftpTuning {
  /** Everything from the port that requests come to. */
  readonly singlePort?: boolean;
  /** Where the port lies that transfers speak from. */
  readonly transferPorts?: { readonly from: number; readonly to: number };
  readonly maxBlockSize?: number;
  readonly maxWindowSize?: number;
  /** What follows block 65535. */
  readonly rolloverTo?: 0 | 1;
  /** Transfers at once, of one address and of all. */
  readonly perClient?: number;
  readonly atOnce?: number;
}

export interface Config {
  readonly file: string;
  readonly state: string;
  readonly listen: {
    readonly boot: ListenAddress | null;
    readonly management: ListenAddress;
    /** `networks`: on the appliance's address of every network that it serves DHCP on. */
    readonly tftp: ListenAddress | 'networks' | null;
    /** Where enrolled nodes talk to us; null: nowhere. */
    readonly node: ListenAddress | null;
  };
  /** What the file says about TFTP; the rest is as usual. */
  readonly tftp: TftpTuning;
  /** What the file says about nodes that enroll, in milliseconds; the rest is as usual. */
  readonly enrollment: Readonly<Partial<Record<EnrollmentSetting, number>>>;
  /** Answer as the authority also where another DHCP server does: for moving from one to the other. */
  readonly ignoreOtherDhcpServers: boolean;
  /** Where BMCs may be looked for; nowhere unless the file names networks. */
  readonly bmcScan: readonly Prefix[];
  readonly tls: { readonly certificateFile: string; readonly keyFile: string } | null;
  readonly retentionDays: number;
  readonly logLevel: string;
  readonly inventoryFiles: readonly string[];
  /** The folder of the operator's own templates. */
  readonly templates: string | null;
  readonly inline: RawSource | null;
}

const closed = { additionalProperties: false } as const;
const path = () => Type.String({ pattern: '^[^\\0]+$', description: 'a path' });

const ConfigDocument = Type.Object(
  {
    state: Type.Optional(path()),
    listen: Type.Optional(
      Type.Object(
        {
          boot: Type.Optional(Type.String()),
          management: Type.Optional(Type.String()),
          tftp: Type.Optional(Type.String()),
          node: Type.Optional(Type.String()),
        },
        closed,
      ),
    ),
    tls: Type.Optional(Type.Object({ certificate: path(), key: path() }, closed)),
    dhcp: Type.Optional(Type.Object({ ignore_other_servers: Type.Optional(Type.Boolean()) }, closed)),
    tftp: Type.Optional(
      Type.Object(
        {
          single_port: Type.Optional(Type.Boolean()),
          transfer_ports: Type.Optional(
            Type.Object(
              {
                from: Type.Integer({ minimum: 1024, maximum: 65_535 }),
                to: Type.Integer({ minimum: 1024, maximum: 65_535 }),
              },
              closed,
            ),
          ),
          // RFC 2348 goes up to 65464; who asks for no size gets 512 anyway.
          max_block_size: Type.Optional(Type.Integer({ minimum: 512, maximum: 65_464 })),
          // A window is kept until it is acknowledged, for every transfer.
          max_window_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
          rollover: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 })),
          per_client: Type.Optional(Type.Integer({ minimum: 1, maximum: 1024 })),
          at_once: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
        },
        closed,
      ),
    ),
    bmc: Type.Optional(Type.Object({ scan: Type.Optional(Type.Array(Type.String())) }, closed)),
    enrollment: Type.Optional(
      Type.Object(
        {
          certificate_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 8784 })),
          token_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 168 })),
          heartbeat_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 300 })),
          silent_seconds: Type.Optional(Type.Integer({ minimum: 5, maximum: 86_400 })),
        },
        closed,
      ),
    ),
    store: Type.Optional(Type.Object({ engine: Type.Optional(Type.Enum(['sqlite'])) }, closed)),
    inventory: Type.Optional(Type.Array(path())),
    templates: Type.Optional(path()),
    retention: Type.Optional(
      Type.Object({ event_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650 })) }, closed),
    ),
    log: Type.Optional(
      Type.Object(
        { level: Type.Optional(Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])) },
        closed,
      ),
    ),
    ...INVENTORY_SECTIONS,
  },
  closed,
);

type Document = Sound<Static<typeof ConfigDocument>>;

const readStructure = structureReader(ConfigDocument);

/** `invalid_config` lists every problem. Paths in the file start at its folder, overrides at the current one. */
export async function loadConfig(file: string, overrides: { state?: string } = {}): Promise<Config> {
  const read = await readDocument(file);
  if (!read.ok) throw new ColdironError('invalid_config', 'the configuration cannot be read', [read.problem]);
  const problems: string[] = [];
  const report: Report = (at, message) => void problems.push(`${file}: ${at}: ${message}`);
  const document: Document = readStructure(read.value, report) ?? {};

  const folder = dirname(file);
  const listen = listenAddresses(document, report);
  const tftp = tftpTuning(document, listen?.tftp ?? null, report);
  const tls = document.tls ? await tlsFiles(document.tls, folder, report) : null;
  const bmcScan = scanNetworks(document.bmc?.scan ?? [], report);
  const inventoryFiles = await inventoryPaths(document.inventory ?? [], file, report);
  const templates = await templateFolder(document.templates, folder, report);
  const inline = await withScripts(read.value, file);
  problems.push(...inline.problems);
  if (problems.length > 0 || !listen) {
    throw new ColdironError('invalid_config', 'the configuration has problems', problems);
  }
  return {
    file,
    state: overrides.state === undefined ? resolve(folder, document.state ?? 'state') : resolve(overrides.state),
    listen,
    tftp,
    enrollment: enrollmentTimes(document),
    tls,
    ignoreOtherDhcpServers: document.dhcp?.ignore_other_servers ?? false,
    bmcScan,
    retentionDays: document.retention?.event_days ?? 30,
    logLevel: document.log?.level ?? 'info',
    inventoryFiles,
    templates,
    inline: inlineSource(file, inline),
  };
}

function listenAddresses(document: Document, report: Report): Config['listen'] | undefined {
  const {
    boot = '127.0.0.1:8080',
    management = '127.0.0.1:8443',
    tftp = 'networks',
    node = 'off',
  } = document.listen ?? {};
  const bootAddress = boot === 'off' ? parsed(null) : parseListenAddress(boot);
  const managementAddress = parseListenAddress(management);
  const nodeAddress = node === 'off' ? parsed(null) : parseListenAddress(node);
  const tftpAddress = parseTftpListen(tftp);
  if (!bootAddress.ok) report('listen.boot', `${bootAddress.reason}, or off`);
  if (!tftpAddress.ok) report('listen.tftp', `${tftpAddress.reason}, or networks, or off`);
  if (!nodeAddress.ok) report('listen.node', `${nodeAddress.reason}, or off`);
  if (!managementAddress.ok) report('listen.management', managementAddress.reason);
  else if (!isLoopback(managementAddress.value.address) && !Object.hasOwn(document, 'tls')) {
    report(
      'listen.management',
      `${management} can be reached from other machines, and without tls tokens would cross the network in the clear: ` +
        'name tls.certificate and tls.key, or listen on 127.0.0.1',
    );
  }
  if (!bootAddress.ok || !managementAddress.ok || !tftpAddress.ok || !nodeAddress.ok) return undefined;
  return {
    boot: bootAddress.value,
    management: managementAddress.value,
    tftp: tftpAddress.value,
    node: nodeAddress.value,
  };
}

/** How the file says each of them, and in which unit. */
const ENROLLMENT_TIMES = {
  nodeLifetime: ['certificate_hours', HOUR],
  tokenLifetime: ['token_hours', HOUR],
  heartbeatEvery: ['heartbeat_seconds', SECOND],
  silentAfter: ['silent_seconds', SECOND],
} as const;
type EnrollmentSetting = keyof typeof ENROLLMENT_TIMES;

function enrollmentTimes({ enrollment = {} }: Document): Config['enrollment'] {
  return Object.fromEntries(
    Object.entries(ENROLLMENT_TIMES).flatMap(([setting, [key, unit]]) => {
      const said = enrollment[key];
      return said === undefined ? [] : [[setting, said * unit]];
    }),
  );
}

function parseTftpListen(text: string): Parsed<Config['listen']['tftp']> {
  if (text === 'networks') return parsed('networks');
  if (text === 'off') return parsed(null);
  const listen = parseListenAddress(text);
  if (!listen.ok || listen.value.address !== EVERY_ADDRESS) return listen;
  // The kernel chooses where an answer leaves from, and firmware takes none from an address that it did not ask.
  return unparsable(
    `must be one address of this machine: an answer from ${shown(text)} could leave from another address than the one that ` +
      'was asked; write the one that machines ask, like 10.0.100.10:69',
  );
}

const EVERY_ADDRESS = '0.0.0.0';

function tftpTuning({ tftp = {} }: Document, listen: Config['listen']['tftp'], report: Report): TftpTuning {
  const { single_port, max_block_size, max_window_size, rollover, per_client, at_once } = tftp;
  const { from, to } = tftp.transfer_ports ?? {};
  const ports = from === undefined || to === undefined ? null : { from, to };
  if (ports && ports.from > ports.to) report('tftp.transfer_ports', `from ${ports.from} is beyond to ${ports.to}`);
  if (ports && single_port) {
    report(
      'tftp.transfer_ports',
      'has no meaning with single_port, where transfers have no port of their own: remove one',
    );
  }
  if (ports && typeof listen === 'object' && listen && ports.from <= listen.port && listen.port <= ports.to) {
    report('tftp.transfer_ports', `holds port ${listen.port}, which is that of the requests (listen.tftp)`);
  }
  if (per_client !== undefined && at_once !== undefined && per_client > at_once) {
    report('tftp.per_client', `${per_client} of one address are more than ${at_once} of all (at_once)`);
  }
  return {
    ...(single_port !== undefined && { singlePort: single_port }),
    ...(ports && { transferPorts: ports }),
    ...(max_block_size !== undefined && { maxBlockSize: max_block_size }),
    ...(max_window_size !== undefined && { maxWindowSize: max_window_size }),
    ...(rollover !== undefined && { rolloverTo: rollover === 1 ? 1 : 0 }),
    ...(per_client !== undefined && { perClient: per_client }),
    ...(at_once !== undefined && { atOnce: at_once }),
  };
}

function parseListenAddress(text: string): Parsed<ListenAddress> {
  const [host = '', port = '', ...rest] = text.split(':');
  const address = parseIpv4(host);
  if (rest.length > 0 || !/^\d{1,5}$/.test(port) || Number(port) > 65535 || !address.ok) {
    return unparsable(`must be an IPv4 address and a port, like 127.0.0.1:8080: ${shown(text)}`);
  }
  return parsed({ address: address.value, port: Number(port) });
}

/** RFC 1122 §3.2.1.3: all of 127/8 stays on this host. */
const LOOPBACK: Prefix = { network: mustParse(parseIpv4('127.0.0.0')), length: 8 };
const isLoopback = (address: string): boolean => contains(LOOPBACK, mustParse(parseIpv4(address)));

function scanNetworks(texts: readonly (string | undefined)[], report: Report): Prefix[] {
  return texts.flatMap((text, at) => {
    if (text === undefined) return [];
    const prefix = parsePrefix(text);
    if (prefix.ok) return [prefix.value];
    report(`bmc.scan[${at}]`, prefix.reason);
    return [];
  });
}

async function tlsFiles(tls: NonNullable<Document['tls']>, folder: string, report: Report): Promise<Config['tls']> {
  const readable = async (key: 'certificate' | 'key'): Promise<string> => {
    const file = resolve(folder, tls[key] ?? '');
    // A key that is missing or misspelled is reported already.
    if (tls[key] === undefined) return file;
    await access(file, constants.R_OK).catch(() => report(`tls.${key}`, `cannot be read: ${file}`));
    return file;
  };
  return { certificateFile: await readable('certificate'), keyFile: await readable('key') };
}

async function inventoryPaths(
  patterns: readonly (string | undefined)[],
  file: string,
  report: Report,
): Promise<readonly string[]> {
  const found = new Set<string>();
  const folder = dirname(file);
  for (const [at, pattern] of patterns.entries()) {
    if (pattern === undefined) continue;
    const matches: string[] = [];
    for await (const match of glob(pattern, { cwd: folder })) {
      const path = isAbsolute(match) ? match : join(folder, match);
      // A pattern as wide as *.yaml also finds this file.
      if (resolve(path) !== resolve(file)) matches.push(path);
    }
    if (matches.length === 0) report(`inventory[${at}]`, `no file is called ${shown(pattern)}`);
    for (const match of matches.sort()) found.add(match);
  }
  return [...found];
}

async function templateFolder(path: string | undefined, folder: string, report: Report): Promise<string | null> {
  if (path === undefined) return null;
  const found = resolve(folder, path);
  const isFolder = await stat(found).then(
    (one) => one.isDirectory(),
    () => false,
  );
  if (!isFolder) report('templates', `there is no folder ${found}`);
  return found;
}

function inlineSource(file: string, { value, scripts }: WithScripts): RawSource | null {
  const sections = Object.entries(value as Readonly<Record<string, unknown>>).filter(([key]) =>
    Object.hasOwn(INVENTORY_SECTIONS, key),
  );
  return sections.length > 0 ? { file, name: 'site', value: Object.fromEntries(sections), scripts } : null;
}
