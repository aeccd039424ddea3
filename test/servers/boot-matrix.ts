// Every kind of client in every situation, and the real servers that answer them: DHCP on sockets in memory, HTTP on loopback,
// TFTP through its resolver. All of them share one boot resolver, as in the appliance.

import type { Asset } from '../../appliance/assets/asset.ts';
import { AvailableImages } from '../../appliance/assets/available-images.ts';
import { type Availability, BootResolver } from '../../appliance/boot/boot-resolver.ts';
import { writeText, writeU16 } from '../../appliance/codecs/dhcp4/option-values.ts';
import { OPTION } from '../../appliance/codecs/dhcp4/options.ts';
import type { CpuArchitecture } from '../../appliance/domain/architecture.ts';
import type { ArmedIntent } from '../../appliance/domain/intent.ts';
import { parseIpv4, parsePrefix } from '../../appliance/domain/ipv4.ts';
import { LIFECYCLE_STATES, type LifecycleState } from '../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../appliance/domain/network.ts';
import { mustParse, parsed, unparsable } from '../../appliance/domain/parsed.ts';
import { Fleet } from '../../appliance/inventory/fleet.ts';
import { HttpBootServer } from '../../appliance/servers/http-boot/http-boot-server.ts';
import { readBootTemplates } from '../../appliance/servers/http-boot/read-templates.ts';
import { ScriptIssuer } from '../../appliance/servers/http-boot/script-issuer.ts';
import { BootTexts } from '../../appliance/servers/tftp/boot-texts.ts';
import { TftpResolver } from '../../appliance/servers/tftp/tftp-resolver.ts';
import type { TrailNote } from '../../appliance/trail/trail.ts';
import {
  eraseIntentWith,
  intentWith,
  MAC,
  machineIn,
  NOW,
  networkWith,
  OTHER_UUID,
  profileWith,
  SITE,
  UUID,
} from '../boot/boot-fixtures.ts';
import { packet, Rig } from './dhcp/rig.ts';

const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));
const POOL = { from: mustParse(parseIpv4('127.0.1.1')), to: mustParse(parseIpv4('127.0.1.9')) };

interface Client {
  readonly what: string;
  /** The input of `explain`. */
  readonly arch: number;
  readonly cpu: CpuArchitecture;
  readonly dhcp: readonly (readonly [number, Uint8Array])[];
  readonly buildarch: string;
  readonly platform: 'pcbios' | 'efi';
  readonly secureBoot?: true;
  /** iPXE that fetches its script by name, over TFTP. */
  readonly autoexec?: true;
}

const firmware = (vendor: string, arch: number): Client['dhcp'] => [
  [OPTION.vendorClass, writeText(`${vendor}:Arch:${String(arch).padStart(5, '0')}:UNDI:003000`)],
  [OPTION.clientArchitecture, writeU16(arch)],
];
const IPXE = [OPTION.userClass, writeText('iPXE')] as const;
const X64 = { arch: 7, cpu: 'x86_64', buildarch: 'x86_64', platform: 'efi' } as const;

export const CLIENTS: readonly Client[] = [
  { what: 'BIOS PXE', arch: 0, cpu: 'x86_64', dhcp: firmware('PXEClient', 0), buildarch: 'i386', platform: 'pcbios' },
  { what: 'UEFI PXE x64', ...X64, dhcp: firmware('PXEClient', 7) },
  {
    what: 'UEFI PXE arm64',
    arch: 11,
    cpu: 'arm64',
    dhcp: firmware('PXEClient', 11),
    buildarch: 'arm64',
    platform: 'efi',
  },
  { what: 'UEFI HTTP', ...X64, arch: 16, dhcp: firmware('HTTPClient', 16) },
  { what: 'iPXE over HTTP', ...X64, dhcp: [...firmware('PXEClient', 7), IPXE] },
  { what: 'iPXE autoexec over TFTP', ...X64, dhcp: [...firmware('PXEClient', 7), IPXE], autoexec: true },
  { what: 'GRUB under Secure Boot', ...X64, dhcp: firmware('PXEClient', 7), secureBoot: true },
  { what: 'operating system', ...X64, dhcp: [] },
];

const INTENTS = ['none', 'armed', 'consumed', 'expired', 'for another chassis'] as const;

export interface Cell {
  readonly client: Client;
  /** null: an unknown machine, on a network that inspects unknown machines. */
  readonly state: LifecycleState | null;
  readonly images: boolean;
  readonly orders: boolean;
  readonly intent: (typeof INTENTS)[number];
}

export const cellText = ({ client, state, images, orders, intent }: Cell): string =>
  [client.what, state ?? 'unknown', images ? 'image' : 'no image', orders ? 'order' : 'no order', intent].join(' | ');

/** All situations. */
export const cellsOf = (client: Client): Cell[] =>
  [...LIFECYCLE_STATES, null].flatMap((state) =>
    [true, false].flatMap((images) =>
      [true, false].flatMap((orders) => INTENTS.map((intent) => ({ client, state, images, orders, intent }))),
    ),
  );

function intentOf(state: LifecycleState | null, what: Cell['intent']): ArmedIntent | null {
  const changes = {
    none: null,
    armed: {},
    consumed: { consumedAt: NOW - 1 },
    expired: { expiresAt: NOW },
    'for another chassis': { uuid: OTHER_UUID },
  }[what];
  if (changes === null) return null;
  return state === 'releasing' ? eraseIntentWith(changes) : intentWith(changes);
}

export function machineOf({ client, state, intent }: Cell): Machine | null {
  if (state === null) return null;
  return machineIn(state, { spec: { architecture: client.cpu }, intent: intentOf(state, intent) });
}

const asset = (name: string): [string, Asset] => [
  name,
  {
    name,
    file: '/nowhere',
    size: 1,
    sha256: '0'.repeat(64),
    kind: /\.k?pxe$/.test(name) ? 'bios' : name.endsWith('.efi') ? 'efi' : 'unknown',
    architecture: null,
    contentType: '',
  },
];
const LOADERS = ['undionly.kpxe', 'ipxe.efi', 'arm64-efi/snponly.efi', 'shimx64.efi', 'grubx64.efi'].map(asset);
const IMAGES = ['x86_64', 'arm64']
  .flatMap((cpu) => [`images/service-os-${cpu}/kernel`, `images/service-os-${cpu}/initrd`])
  .concat('nixos/worker/bzImage', 'nixos/worker/initrd')
  .map(asset);

/** An appliance with one machine, which is put into the situation of one cell at a time. */
export class MatrixAppliance {
  readonly fleet = new Fleet();
  readonly resolver: BootResolver;
  readonly notes: TrailNote[] = [];
  readonly consumed: string[] = [];
  readonly bootPort = 8080;
  /** Whether the store still has the intent that the fleet lists. */
  storeHasIntent = true;
  #library = new Map<string, Asset>();
  #orders = true;
  #network: SiteNetwork = networkWith();
  readonly #http: HttpBootServer;
  #tftp: TftpResolver;
  #port = 0;

  constructor() {
    const library = {
      find: (name: string) => this.#library.get(name) ?? null,
      suggestionFor: () => '',
    };
    const images = new AvailableImages(library);
    const has: Availability = {
      available: (file) => library.find(file) !== null,
      startability: {
        image: (image) => images.find(image),
        orderProblem: () => (this.#orders ? null : 'its order cannot be made'),
      },
    };
    this.resolver = new BootResolver(this.fleet, () => NOW, has);
    const { resolver } = this;
    const templates = readBootTemplates();
    const scripts = new ScriptIssuer({
      resolver,
      templates,
      consume: async (intent) => {
        this.consumed.push(intent);
        return this.storeHasIntent;
      },
      sessions: {
        draft: () =>
          this.#orders
            ? parsed({ url: 'http://127.0.0.1/ticket', ticket: {} as never })
            : unparsable('its order cannot be made'),
        put: async () => undefined,
        onRestart: () => undefined,
      },
      onFinding: () => undefined,
      onUnknown: () => undefined,
      onScriptFetched: () => undefined,
      onStoreFailure: (error) => {
        throw error;
      },
    });
    const texts = new BootTexts({ resolver, templates, scripts, bootPort: this.bootPort });
    this.#tftp = new TftpResolver({ resolver, library, macOf: () => MAC, scriptFor: texts.textFor, now: () => NOW });
    this.#http = new HttpBootServer(
      {
        resolver,
        scripts,
        templates,
        library,
        profiles: () => this.fleet.profiles(),
        whoIs: () => ({ mac: MAC, machine: null }),
        trail: { note: (note) => void this.notes.push(note) },
        logger: { info: () => undefined, warn: () => undefined, error: () => undefined },
        newId: () => 'id',
        elsewhere: (_request, response) => void response.end(),
      },
      { address: LOOPBACK, port: 0 },
    );
  }

  async start(): Promise<void> {
    this.#port = (await this.#http.start()).port;
  }

  stop(): Promise<void> {
    return this.#http.stop();
  }

  enter(cell: Cell, machine = machineOf(cell)): void {
    this.#network = networkWith({
      prefix: mustParse(parsePrefix('127.0.0.0/8')),
      server: LOOPBACK,
      pools: [POOL],
      unknown: 'inspect',
      secureBoot: cell.client.secureBoot ?? false,
    });
    this.fleet.replace({
      sites: [SITE],
      networks: [this.#network],
      skus: [],
      profiles: [profileWith({ architectures: ['x86_64', 'arm64'] })],
      clusters: [],
      roce: [],
      machines: machine === null ? [] : [machine],
      sources: new Map(),
      declaredRevision: 1,
      revision: 1,
    });
    this.#library = new Map([...LOADERS, ...(cell.images ? IMAGES : [])]);
    this.#orders = cell.orders;
    this.storeHasIntent = true;
    this.notes.length = 0;
    this.consumed.length = 0;
  }

  /** The boot file of the OFFER; null: no OFFER, '' : no boot file in it. */
  async offered({ client }: Cell): Promise<string | null> {
    const machines = [...this.fleet.machines()];
    const rig = new Rig({ networks: [this.#network], machines, resolver: this.resolver });
    await rig.server.start();
    try {
      rig.receives(packet('discover', MAC, { options: client.dhcp }));
      return rig.udp.replies[0]?.message.file ?? null;
    } finally {
      await rig.server.stop();
    }
  }

  async script({ client: { buildarch, platform } }: Cell): Promise<{ status: number; text: string }> {
    const path = `/boot/ipxe/${MAC.replaceAll(':', '-')}.ipxe`;
    const query = `uuid=${UUID}&buildarch=${buildarch}&platform=${platform}`;
    const response = await fetch(`http://127.0.0.1:${this.#port}${path}?${query}`);
    return { status: response.status, text: await response.text() };
  }

  /** The text or the file name that is sent, or the reason why not. */
  async tftp(name: string): Promise<{ sent: string | null; decided: string | null }> {
    const { reply, resolved } = await this.#tftp.answer(name, LOOPBACK);
    const decided = resolved?.decision.because.id ?? null;
    if (reply.do !== 'send') return { sent: null, decided };
    const { content } = reply;
    return { sent: 'asset' in content ? content.asset.name : Buffer.from(content.text).toString(), decided };
  }
}
