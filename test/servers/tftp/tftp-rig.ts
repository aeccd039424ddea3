// A TFTP server on loopback with a real resolver, fleet and library, for one machine whose state the test chooses.

import { readdirSync, readlinkSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { AssetLibrary } from '../../../appliance/assets/library.ts';
import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { parseIpv4, parsePrefix } from '../../../appliance/domain/ipv4.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../../appliance/domain/network.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import { TftpResolver, type TftpResolverDeps } from '../../../appliance/servers/tftp/tftp-resolver.ts';
import { TftpServer, type TftpServerDeps } from '../../../appliance/servers/tftp/tftp-server.ts';
import { TFTP_DEFAULTS, type TftpSettings } from '../../../appliance/servers/tftp/tftp-settings.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { bzImage, PE_MACHINE, peFile, put, pxeProgram, temporaryFolder } from '../../assets/tiny-files.ts';
import { MAC, machineIn, NOW, networkWith, profileWith, SITE } from '../../boot/boot-fixtures.ts';
import { checkedEvent } from '../../domain/events/checked-event.ts';

export const LOOPBACK = mustParse(parseIpv4('127.0.0.1'));
/** Not a multiple of any block size in use, and large enough for many windows. */
export const LOADER = Buffer.concat([peFile(PE_MACHINE.x86_64), Buffer.alloc(300_001, 'loader bytes ')]);

export interface ResolverSetting {
  readonly machine?: Machine | null;
  readonly network?: Partial<SiteNetwork>;
  readonly resolver?: Partial<TftpResolverDeps>;
}

export function fleetOf(machine: Machine | null, network: Partial<SiteNetwork> = {}): Fleet {
  const loopback = networkWith({ prefix: mustParse(parsePrefix('127.0.0.0/8')), server: LOOPBACK, ...network });
  const fleet = new Fleet();
  fleet.replace({
    sites: [SITE],
    networks: [loopback],
    skus: [],
    profiles: [profileWith()],
    clusters: [],
    roce: [],
    machines: machine === null ? [] : [machine],
    sources: new Map(),
    declaredRevision: 1,
    revision: 1,
  });
  return fleet;
}

/** loader/{snponly.efi,ipxe.efi,undionly.kpxe}, two NixOS profiles and the service OS. */
export async function libraryWithFiles(): Promise<AssetLibrary> {
  const folder = temporaryFolder();
  put(folder, 'loader/snponly.efi', LOADER);
  put(folder, 'loader/ipxe.efi', LOADER.subarray(0, 20_000));
  put(folder, 'loader/undionly.kpxe', pxeProgram());
  for (const profile of ['worker', 'other']) put(folder, `nixos/${profile}/bzImage`, bzImage(1));
  for (const name of ['service-os/linux', 'service-os-x86_64/kernel']) put(folder, `images/${name}`, bzImage(1));
  return AssetLibrary.open(folder);
}

export async function resolverWith({
  machine = machineIn('ready'),
  network,
  resolver,
}: ResolverSetting = {}): Promise<TftpResolver> {
  return new TftpResolver({
    resolver: new BootResolver(fleetOf(machine, network), () => NOW),
    library: await libraryWithFiles(),
    macOf: () => MAC,
    scriptFor: async (name) => (name === 'grub/grub.cfg' ? { text: 'exit\n', decided: null } : null),
    now: () => NOW,
    ...resolver,
  });
}

export interface Rig {
  readonly server: TftpServer;
  readonly port: number;
  readonly notes: TrailNote[];
  readonly logged: string[];
  /** Resolves when this many notes of this kind were made. */
  noted(kind: string, count?: number): Promise<readonly TrailNote[]>;
}

/** With a clock, transfers run in this thread. */
export async function startServer(
  settings: Partial<TftpSettings> = {},
  resolver?: Pick<TftpResolver, 'answer'>,
  more: Partial<Pick<TftpServerDeps, 'clock' | 'mtuAt' | 'whoIs'>> = {},
): Promise<Rig> {
  const notes: TrailNote[] = [];
  const logged: string[] = [];
  const waiting: (() => void)[] = [];
  const log = (line: unknown, text: string) => void logged.push(`${text} ${JSON.stringify(line)}`);
  const server = new TftpServer({
    settings: { ...TFTP_DEFAULTS, addresses: ['127.0.0.1'], port: 0, ...settings },
    resolver: resolver ?? (await resolverWith()),
    ...more,
    trail: {
      note: (note) => {
        notes.push(checkedEvent(note));
        for (const look of waiting.splice(0)) look();
      },
    },
    log: { debug: log, info: log, warn: log, error: log } as never,
  });
  const [listening] = await server.start();
  if (!listening) throw new Error('the server listens nowhere');
  onTestFinished(() => server.stop());
  const of = (kind: string) => notes.filter((note) => note.kind === kind);
  const noted: Rig['noted'] = async (kind, count = 1) => {
    while (of(kind).length < count) await new Promise<void>((resolve) => waiting.push(resolve));
    return of(kind);
  };
  return { server, port: listening.port, notes, logged, noted };
}

/** Sockets that this process holds open, as the kernel counts them. */
export function openSockets(): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return ''; // the folder's own descriptor is already closed
    }
  });
  return links.filter((link) => link.startsWith('socket:')).length;
}
