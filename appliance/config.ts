// coldiron.yaml: read once at start and checked as a whole; each component gets its part. The file may contain inventory
// sections next to its own keys; they become the source named "site".

import { access, constants, glob, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { type Static, Type } from 'typebox';
import { readDocument } from './documents/document.ts';
import { type Report, structureReader, type ValidPart } from './documents/structure.ts';
import { ColdironError } from './domain/errors.ts';
import { HOUR, SECOND } from './domain/instant.ts';
import { contains, type Prefix, parseIpv4, parsePrefix } from './domain/ipv4.ts';
import { mustParse, type Parsed, parsed, shown, unparsable } from './domain/parsed.ts';
import { ExportDocument, type ReceiverSettings, readReceivers } from './export/settings.ts';
import { isBelow } from './identity/vault/confined-file.ts';
import { type InlinedScripts, inlineScripts } from './inventory/bootstrap-scripts.ts';
import type { RawSource } from './inventory/read-files.ts';
import { INVENTORY_SECTIONS } from './inventory/schema.ts';

export interface ListenAddress {
  readonly address: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface TftpTuning {
  /** Transfers use the port that receives the requests. */
  readonly singlePort?: boolean;
  /** The range of the source ports of transfers. */
  readonly transferPorts?: { readonly from: number; readonly to: number };
  readonly maxBlockSize?: number;
  readonly maxWindowSize?: number;
  /** The block number after 65535. */
  readonly rolloverTo?: 0 | 1;
  /** Limits of concurrent transfers, per client address and in total. */
  readonly perClient?: number;
  readonly atOnce?: number;
}

export interface Config {
  readonly file: string;
  readonly state: string;
  readonly listen: {
    readonly boot: ListenAddress | null;
    readonly management: ListenAddress;
    /** `networks`: on the server address of every network with DHCP. */
    readonly tftp: ListenAddress | 'networks' | null;
    /** The node API for enrolled nodes; null: off. */
    readonly node: ListenAddress | null;
  };
  /** The TFTP settings of the file; omitted ones have defaults. */
  readonly tftp: TftpTuning;
  /** The enrollment settings of the file, times in milliseconds; omitted ones have defaults. */
  readonly enrollment: Readonly<Partial<Record<EnrollmentSetting, number>>> & { readonly agentNames?: string };
  /** Stay authoritative although another DHCP server answers: for a migration between servers. */
  readonly ignoreOtherDhcpServers: boolean;
  /** The networks that may be scanned for BMCs. */
  readonly bmcScan: readonly Prefix[];
  /** The only folder that BMC passwords of the inventory are read from. */
  readonly bmcPasswordFolder: string;
  /** Whether the serial consoles of machines are captured while they are worked on. */
  readonly captureConsoles: boolean;
  readonly tls: { readonly certificateFile: string; readonly keyFile: string } | null;
  readonly retentionDays: number;
  /** At most this many events are kept, whatever their age. */
  readonly retainedEvents: number;
  /** Who gets the events. */
  readonly receivers: readonly ReceiverSettings[];
  readonly logLevel: string;
  readonly inventoryFiles: readonly string[];
  /** The folder of the operator's templates. */
  readonly templates: string | null;
  /** The folder with the certificates of TPM vendors that this site trusts. */
  readonly tpmVendors: string | null;
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
          // RFC 2348 allows up to 65464; a client without the option gets 512.
          max_block_size: Type.Optional(Type.Integer({ minimum: 512, maximum: 65_464 })),
          // Each transfer keeps its window in memory until it is acknowledged.
          max_window_size: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
          rollover: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 })),
          per_client: Type.Optional(Type.Integer({ minimum: 1, maximum: 1024 })),
          at_once: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
        },
        closed,
      ),
    ),
    bmc: Type.Optional(
      Type.Object(
        {
          scan: Type.Optional(Type.Array(Type.String())),
          password_folder: Type.Optional(path()),
          console_capture: Type.Optional(Type.Boolean()),
        },
        closed,
      ),
    ),
    enrollment: Type.Optional(
      Type.Object(
        {
          certificate_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 8784 })),
          token_hours: Type.Optional(Type.Integer({ minimum: 1, maximum: 168 })),
          heartbeat_seconds: Type.Optional(Type.Integer({ minimum: 1, maximum: 300 })),
          silent_seconds: Type.Optional(Type.Integer({ minimum: 5, maximum: 86_400 })),
          agent_names: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9]{1,30}$' })),
        },
        closed,
      ),
    ),
    store: Type.Optional(Type.Object({ engine: Type.Optional(Type.Enum(['sqlite'])) }, closed)),
    inventory: Type.Optional(Type.Array(path())),
    templates: Type.Optional(path()),
    tpm: Type.Optional(Type.Object({ vendor_authorities: Type.Optional(path()) }, closed)),
    retention: Type.Optional(
      Type.Object(
        {
          event_days: Type.Optional(Type.Integer({ minimum: 1, maximum: 3650 })),
          // 400 bytes each on disk, with their indexes.
          events: Type.Optional(Type.Integer({ minimum: 1000, maximum: 1_000_000_000 })),
        },
        closed,
      ),
    ),
    export: Type.Optional(ExportDocument),
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

/** About 2 GB. */
const RETAINED_EVENTS = 5_000_000;

type Document = ValidPart<Static<typeof ConfigDocument>>;

const readStructure = structureReader(ConfigDocument);

/** The error `invalid_config` lists every problem. Paths in the file are relative to its folder, overrides to the current folder. */
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
  const state = overrides.state === undefined ? resolve(folder, document.state ?? 'state') : resolve(overrides.state);
  const bmcPasswordFolder = passwordFolder(document, folder, state, report);
  const inventoryFiles = await inventoryPaths(document.inventory ?? [], file, report);
  const templates = await readableFolder('templates', document.templates, folder, report);
  const tpmVendors = await readableFolder('tpm.vendor_authorities', document.tpm?.vendor_authorities, folder, report);
  const receivers = await readReceivers(document.export ?? [], folder, report);
  const inline = await inlineScripts(read.value, file);
  problems.push(...inline.problems);
  if (problems.length > 0 || !listen) {
    throw new ColdironError('invalid_config', 'the configuration has problems', problems);
  }
  return {
    file,
    state,
    listen,
    tftp,
    enrollment: enrollmentSettings(document),
    tls,
    ignoreOtherDhcpServers: document.dhcp?.ignore_other_servers ?? false,
    bmcScan,
    bmcPasswordFolder,
    captureConsoles: document.bmc?.console_capture ?? true,
    retentionDays: document.retention?.event_days ?? 30,
    retainedEvents: document.retention?.events ?? RETAINED_EVENTS,
    receivers,
    logLevel: document.log?.level ?? 'info',
    inventoryFiles,
    templates,
    tpmVendors,
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
      `${management} is reachable from other machines, and without TLS tokens would be sent unencrypted: ` +
        'set tls.certificate and tls.key, or listen on 127.0.0.1',
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

/** The key of each setting in the file, and its unit. */
const ENROLLMENT_TIMES = {
  nodeLifetime: ['certificate_hours', HOUR],
  tokenLifetime: ['token_hours', HOUR],
  heartbeatEvery: ['heartbeat_seconds', SECOND],
  silentAfter: ['silent_seconds', SECOND],
} as const;
type EnrollmentSetting = keyof typeof ENROLLMENT_TIMES;
function enrollmentSettings({ enrollment = {} }: Document): Config['enrollment'] {
  const times = Object.fromEntries(
    Object.entries(ENROLLMENT_TIMES).flatMap(([setting, [key, unit]]) => {
      const value = enrollment[key];
      return value === undefined ? [] : [[setting, value * unit]];
    }),
  );
  return enrollment.agent_names === undefined ? times : { ...times, agentNames: enrollment.agent_names };
}

function parseTftpListen(text: string): Parsed<Config['listen']['tftp']> {
  if (text === 'networks') return parsed('networks');
  if (text === 'off') return parsed(null);
  const listen = parseListenAddress(text);
  if (!listen.ok || listen.value.address !== ANY_ADDRESS) return listen;
  // The kernel chooses the source address of a reply, and firmware drops a reply from another address than it sent to.
  return unparsable(
    `must be one address of this machine: with ${shown(text)} a reply could have another source address than the request ` +
      'was sent to; write the address that machines use, like 10.0.100.10:69',
  );
}

const ANY_ADDRESS = '0.0.0.0';

function tftpTuning({ tftp = {} }: Document, listen: Config['listen']['tftp'], report: Report): TftpTuning {
  const { single_port, max_block_size, max_window_size, rollover, per_client, at_once } = tftp;
  const { from, to } = tftp.transfer_ports ?? {};
  const ports = from === undefined || to === undefined ? null : { from, to };
  if (ports && ports.from > ports.to)
    report('tftp.transfer_ports', `from ${ports.from} is greater than to ${ports.to}`);
  if (ports && single_port) {
    report('tftp.transfer_ports', 'has no effect with single_port: remove one of the two');
  }
  if (ports && typeof listen === 'object' && listen && ports.from <= listen.port && listen.port <= ports.to) {
    report('tftp.transfer_ports', `contains port ${listen.port} of listen.tftp`);
  }
  if (per_client !== undefined && at_once !== undefined && per_client > at_once) {
    report('tftp.per_client', `${per_client} is greater than at_once (${at_once})`);
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

/** RFC 1122 §3.2.1.3: packets to 127/8 never leave the host. */
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

const PASSWORD_FOLDER = '/etc/coldiron/bmc-passwords';

/** Password files are sent to addresses that the inventory names; the state folder holds the appliance's own secrets. */
function passwordFolder({ bmc = {} }: Document, folder: string, state: string, report: Report): string {
  const chosen = resolve(folder, bmc.password_folder ?? PASSWORD_FOLDER);
  if (chosen === state || isBelow(state, chosen) || isBelow(chosen, state)) {
    report(
      'bmc.password_folder',
      `must be a folder outside the state folder ${state}, and must not contain it: ${chosen}`,
    );
  }
  return chosen;
}

async function tlsFiles(tls: NonNullable<Document['tls']>, folder: string, report: Report): Promise<Config['tls']> {
  const readable = async (key: 'certificate' | 'key'): Promise<string> => {
    const file = resolve(folder, tls[key] ?? '');
    // A missing or misspelled key was reported before.
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
      // A pattern like *.yaml also matches this file.
      if (resolve(path) !== resolve(file)) matches.push(path);
    }
    if (matches.length === 0) report(`inventory[${at}]`, `no file matches ${shown(pattern)}`);
    for (const match of matches.sort()) found.add(match);
  }
  return [...found];
}

async function readableFolder(
  key: string,
  path: string | undefined,
  folder: string,
  report: Report,
): Promise<string | null> {
  if (path === undefined) return null;
  const found = resolve(folder, path);
  const isFolder = await stat(found).then(
    (one) => one.isDirectory(),
    () => false,
  );
  if (!isFolder) report(key, `no such folder: ${found}`);
  return found;
}

function inlineSource(file: string, { value, scripts }: InlinedScripts): RawSource | null {
  const sections = Object.entries(value as Readonly<Record<string, unknown>>).filter(([key]) =>
    Object.hasOwn(INVENTORY_SECTIONS, key),
  );
  return sections.length > 0 ? { file, name: 'site', value: Object.fromEntries(sections), scripts } : null;
}
