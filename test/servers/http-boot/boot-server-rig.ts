// A boot server on a free port of the loopback, with a small inventory, a library of real files, and all callbacks recorded.

import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Asset } from '../../../appliance/assets/asset.ts';
import { AvailableImages } from '../../../appliance/assets/available-images.ts';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import type { Finding } from '../../../appliance/boot/decide-boot.ts';
import type { Profile } from '../../../appliance/domain/catalogue.ts';
import type { IntentId } from '../../../appliance/domain/intent.ts';
import { parseIpv4, parsePrefix } from '../../../appliance/domain/ipv4.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../../appliance/domain/network.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import type { EndFailedBoot } from '../../../appliance/provisioning/sessions/boot-failure.ts';
import { HttpBootServer, type HttpBootSettings } from '../../../appliance/servers/http-boot/http-boot-server.ts';
import { readBootTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import { ScriptIssuer } from '../../../appliance/servers/http-boot/script-issuer.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { MAC, NODE_ID, NOW, networkWith, profileWith, SITE } from '../../boot/boot-fixtures.ts';
import { checkedEvent } from '../../domain/events/checked-event.ts';

export const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));

interface RigOptions extends Partial<HttpBootSettings> {
  readonly machines?: readonly Machine[];
  readonly network?: Partial<SiteNetwork>;
  readonly profiles?: readonly Profile[];
  readonly consume?: (intent: IntentId) => Promise<boolean>;
  readonly orderProblem?: string;
  readonly stranger?: string;
  readonly monotonicNow?: () => number;
  readonly endFailedBoot?: EndFailedBoot;
}

export class BootServerRig {
  readonly notes: TrailNote[] = [];
  readonly findings: Finding[] = [];
  readonly fetched: string[] = [];
  readonly unknown: string[] = [];
  readonly consumed: IntentId[] = [];
  readonly errors: unknown[] = [];
  readonly warnings: unknown[] = [];
  readonly assets = new Map<string, Asset>();
  readonly folder = mkdtempSync(join(tmpdir(), 'coldiron-http-'));
  readonly server: HttpBootServer;
  readonly #waiting = new Set<() => void>();
  port = 0;

  constructor(options: RigOptions = {}) {
    const {
      machines = [],
      network = {},
      profiles = [profileWith()],
      consume,
      orderProblem = null,
      stranger = null,
      monotonicNow = () => performance.now(),
      endFailedBoot = async () => false,
      ...settings
    } = options;
    const fleet = new Fleet();
    const here = networkWith({ prefix: mustParse(parsePrefix('127.0.0.0/8')), server: LOOPBACK, ...network });
    const catalogue = { sites: [SITE], networks: [here], skus: [], profiles, clusters: [], roce: [] };
    fleet.replace({ ...catalogue, machines, sources: new Map(), declaredRevision: 1, revision: 1 });
    let ids = 0;
    const library = { find: (name: string) => this.assets.get(name) ?? null };
    const images = new AvailableImages(library);
    const templates = readBootTemplates();
    const resolver = new BootResolver(fleet, () => NOW, {
      startability: { image: (image) => images.find(image), orderProblem: () => orderProblem },
    });
    const scripts = new ScriptIssuer({
      resolver,
      templates,
      consume: async (intent) => {
        this.consumed.push(intent);
        return (await consume?.(intent)) ?? true;
      },
      strangerAt: () => stranger,
      onFinding: (_machine, finding) => void this.findings.push(finding),
      onUnknown: ({ mac }, { name }) => void this.unknown.push(`${mac} on ${name}`),
      onScriptFetched: (mac) => void this.fetched.push(mac),
      onStoreFailure: (error) => void this.errors.push(error),
    });
    this.server = new HttpBootServer(
      {
        resolver,
        scripts,
        library,
        templates,
        profiles: () => fleet.profiles(),
        whoIs: () => ({ mac: MAC, machine: NODE_ID }),
        trail: {
          note: (note) => {
            this.notes.push(checkedEvent(note));
            for (const look of this.#waiting) look();
          },
        },
        logger: {
          info: () => undefined,
          warn: (line: unknown) => void this.warnings.push(line),
          error: (line: unknown) => void this.errors.push(line),
        },
        monotonicNow,
        endFailedBoot,
        newId: () => `id-${ids++}`,
        elsewhere: (_request: IncomingMessage, response: ServerResponse) => void response.end('elsewhere'),
      },
      { address: '127.0.0.1', port: 0, ...settings },
    );
  }

  static async start(options: RigOptions = {}): Promise<BootServerRig> {
    const rig = new BootServerRig(options);
    rig.port = (await rig.server.start()).port;
    return rig;
  }

  async stop(): Promise<void> {
    await this.server.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  url(path: string): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  /** Puts a file into the library. */
  shelve(name: string, bytes: Uint8Array | string, changes: Partial<Asset> = {}): Buffer {
    const buffer = Buffer.from(bytes as Uint8Array);
    const file = join(this.folder, name.replaceAll('/', '_'));
    writeFileSync(file, buffer);
    this.assets.set(name, {
      name,
      file,
      size: buffer.length,
      sha256: createHash('sha256').update(buffer).digest('hex'),
      kind: 'unknown',
      architecture: null,
      contentType: 'application/octet-stream',
      ...changes,
    });
    return buffer;
  }

  /** The same with a sparse file of zeros. */
  shelveSparse(name: string, size: number): void {
    this.shelve(name, '');
    const asset = this.assets.get(name);
    if (!asset) return;
    truncateSync(asset.file, size);
    this.assets.set(name, { ...asset, size });
  }

  /** The raw bytes of the response; `path` is sent unchanged. */
  async raw(method: string, path: string, headers: readonly string[] = []): Promise<string> {
    const socket = this.connect();
    socket.write([`${method} ${path} HTTP/1.1`, 'Host: here', 'Connection: close', ...headers, '', ''].join('\r\n'));
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString('latin1');
  }

  /** All of 127.0.0.0/8 is local: each address is another client. */
  connect(localAddress = '127.0.0.1'): Socket {
    return connect({ port: this.port, host: '127.0.0.1', localAddress });
  }

  /** Waits until the trail has this many notes of a kind. */
  async noted(kind: string, count = 1): Promise<TrailNote[]> {
    const found = (): TrailNote[] => this.notes.filter((note) => note.kind === kind);
    while (found().length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
      this.#waiting.clear();
    }
    return found();
  }
}

/** Pseudo-random, so that a wrong offset is detected, and deterministic. */
export function patternBytes(size: number): Buffer {
  const bytes = Buffer.allocUnsafe(size);
  let state = 12345;
  for (let at = 0; at < size; at += 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    bytes[at] = state >>> 16;
  }
  return bytes;
}
