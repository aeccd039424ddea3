// The real boot server and the real TFTP server on the loopback, with a small library, and the appliance's check of
// everything they serve.

import { truncateSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { AvailableImages } from '../../../appliance/assets/available-images.ts';
import { AssetLibrary } from '../../../appliance/assets/library.ts';
import type { RequiredImage } from '../../../appliance/boot/boot-images.ts';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { EVERYTHING_STARTS } from '../../../appliance/boot/startability.ts';
import { parseIpv4, parsePrefix } from '../../../appliance/domain/ipv4.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../../appliance/domain/network.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { BootChain } from '../../../appliance/servers/boot-chain/boot-chain.ts';
import type { ListenAddress } from '../../../appliance/servers/boot-chain/endpoints.ts';
import { OwnRequests } from '../../../appliance/servers/boot-chain/own-requests.ts';
import { HttpBootServer } from '../../../appliance/servers/http-boot/http-boot-server.ts';
import { readBootTemplates } from '../../../appliance/servers/http-boot/read-templates.ts';
import { ScriptIssuer } from '../../../appliance/servers/http-boot/script-issuer.ts';
import { BootTexts } from '../../../appliance/servers/tftp/boot-texts.ts';
import { TftpResolver } from '../../../appliance/servers/tftp/tftp-resolver.ts';
import { TftpServer } from '../../../appliance/servers/tftp/tftp-server.ts';
import { TFTP_DEFAULTS } from '../../../appliance/servers/tftp/tftp-settings.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { bzImage, kernelImage, PE_MACHINE, peFile, put, pxeProgram, temporaryFolder } from '../../assets/tiny-files.ts';
import { MAC, NODE_ID, NOW, networkWith, profileWith, SITE } from '../../boot/boot-fixtures.ts';

const ADDRESS = mustParse(parseIpv4('127.0.0.1'));
const INITRD = Buffer.concat([Buffer.from('070701'), Buffer.alloc(10_000, 'initrd ')]);
const padded = (bytes: Buffer, size = 10_000): Buffer => Buffer.concat([bytes, Buffer.alloc(size, 'x')]);

export const X86_KERNEL = padded(bzImage(1));
export const ARM_KERNEL = padded(kernelImage(PE_MACHINE.arm64, 'ARM\x64'));
/** As large as the initrd of a real installer; a sparse file. */
export const LARGE = 250 * 1024 * 1024;

/** The files of `coldiron assets build`, and the installer of one profile. */
const FILES: readonly (readonly [name: string, bytes: Buffer])[] = [
  ['loader/undionly.kpxe', padded(pxeProgram())],
  ...['ipxe.efi', 'snponly.efi', 'shimx64.efi', 'grubx64.efi'].map(
    (name) => [`loader/${name}`, padded(peFile(PE_MACHINE.x86_64))] as const,
  ),
  ...['shimaa64.efi', 'grubaa64.efi'].map((name) => [`loader/${name}`, padded(peFile(PE_MACHINE.arm64))] as const),
  ['images/service-os-x86_64/kernel', X86_KERNEL],
  ['images/service-os-x86_64/initrd', INITRD],
  ['images/service-os-arm64/kernel', ARM_KERNEL],
  ['images/service-os-arm64/initrd', INITRD],
  ['nixos/worker/bzImage', X86_KERNEL],
  ['nixos/worker/initrd', INITRD],
];

interface RigOptions {
  readonly machines?: readonly Machine[];
  readonly network?: Partial<SiteNetwork>;
  readonly without?: RegExp;
}

export class BootChainRig {
  readonly folder = temporaryFolder();
  readonly notes: TrailNote[] = [];
  readonly logged: { readonly level: string; readonly line: unknown; readonly text: string }[] = [];
  /** Requests over both protocols. */
  readonly requests: string[] = [];
  readonly consumed: unknown[] = [];
  readonly fleet = new Fleet();
  readonly chain: BootChain;
  readonly library: AssetLibrary;
  readonly http: HttpBootServer;
  readonly #resolver: BootResolver;
  readonly #scripts: ScriptIssuer;
  readonly #own = new OwnRequests('key of this test');
  readonly #machines: readonly Machine[];
  readonly #network: SiteNetwork;
  readonly tftpAt: ListenAddress[] = [];
  httpAt: ListenAddress | null = null;
  /** Names that the TFTP server refuses to every client. */
  refusedNames = /^$/;

  private constructor(library: AssetLibrary, { machines = [], network = {} }: RigOptions, address: string) {
    this.library = library;
    const images = new AvailableImages(library);
    const startability = { ...EVERYTHING_STARTS, image: (image: RequiredImage) => images.find(image) };
    this.#resolver = new BootResolver(this.fleet, () => NOW, { startability });
    this.#scripts = this.#scriptIssuer();
    this.#machines = machines;
    this.#network = networkWith({ prefix: mustParse(parsePrefix('127.0.0.0/8')), server: ADDRESS, ...network });
    this.declare();
    this.chain = new BootChain({
      library,
      fleet: this.fleet,
      listening: () => ({ http: this.httpAt, tftp: this.tftpAt }),
      own: this.#own,
      log: this.#log as never,
      timeoutMs: 4000,
    });
    this.http = new HttpBootServer(
      {
        resolver: this.#resolver,
        scripts: this.#scripts,
        templates: readBootTemplates(),
        library,
        profiles: () => this.fleet.profiles(),
        whoIs: () => ({ mac: MAC, machine: NODE_ID }),
        trail: this.#trail,
        isOwn: this.#own.isOwn,
        logger: {
          info: (line: { method: string; path: string }) => void this.requests.push(`${line.method} ${line.path}`),
          warn: () => undefined,
          error: () => undefined,
        } as never,
        newId: () => 'id',
        elsewhere: (_request, response) => void response.end(),
      },
      { address, port: 0 },
    );
  }

  static async start(options: RigOptions = {}, address = '127.0.0.1'): Promise<BootChainRig> {
    const folder = temporaryFolder();
    for (const [name, bytes] of FILES) if (!options.without?.test(name)) put(folder, name, bytes);
    const rig = new BootChainRig(await AssetLibrary.open(folder), options, address);
    Object.assign(rig, { folder });
    rig.httpAt = await rig.http.start();
    onTestFinished(() => rig.http.stop());
    await rig.openTftp('127.0.0.1');
    return rig;
  }

  /** Changes the inventory: profiles, and whether the network exists. */
  declare({ profiles = [profileWith()], networks = [this.#network] } = {}): void {
    const catalogue = { sites: [SITE], networks, skus: [], profiles, clusters: [], roce: [] };
    this.fleet.replace({
      ...catalogue,
      machines: this.#machines,
      sources: new Map(),
      declaredRevision: 1,
      revision: 1,
    });
  }

  async openTftp(address: string): Promise<void> {
    const resolver = this.#tftpResolver();
    const server = new TftpServer({
      settings: { ...TFTP_DEFAULTS, addresses: [address], port: 0 },
      resolver: {
        answer: async (name, from) => {
          this.requests.push(`RRQ ${name}`);
          const refused = {
            do: 'refuse',
            code: 2,
            message: 'refusedNames',
            kind: 'tftp.refused',
            why: 'refusedNames',
          } as const;
          if (this.refusedNames.test(name)) return { name, mac: null, resolved: null, own: true, reply: refused };
          return resolver.answer(name, from);
        },
      },
      trail: this.#trail,
      log: this.#log as never,
    });
    const [bound] = await server.start();
    onTestFinished(() => server.stop());
    if (bound) this.tftpAt.push(bound);
  }

  /** Replaces a file of the library, which reloads. */
  async shelve(name: string, bytes: Buffer, size = bytes.length): Promise<void> {
    truncateSync(put(this.folder, name, bytes), size);
    await this.library.reload();
  }

  get problemsLogged(): readonly unknown[] {
    return this.logged.filter(({ level }) => level === 'error').map(({ line }) => line);
  }

  #tftpResolver(): TftpResolver {
    const texts = new BootTexts({
      resolver: this.#resolver,
      scripts: this.#scripts,
      templates: readBootTemplates(),
      bootPort: 8080,
    });
    return new TftpResolver({
      resolver: this.#resolver,
      library: this.library,
      macOf: () => MAC,
      isSelf: (address) => this.chain.isSelf(address),
      scriptFor: texts.textFor,
      now: () => NOW,
    });
  }

  #scriptIssuer(): ScriptIssuer {
    return new ScriptIssuer({
      resolver: this.#resolver,
      templates: readBootTemplates(),
      consume: async (intent: unknown) => {
        this.consumed.push(intent);
        return true;
      },
      onFinding: () => undefined,
      onUnknown: () => undefined,
      onScriptFetched: (mac: unknown) => void this.consumed.push(mac),
      onStoreFailure: () => undefined,
    });
  }

  readonly #trail = { note: (note: TrailNote): void => void this.notes.push(note) };
  readonly #log = Object.fromEntries(
    ['debug', 'info', 'warn', 'error'].map((level) => [
      level,
      (line: unknown, text = '') => void this.logged.push({ level, line, text }),
    ]),
  );
}
