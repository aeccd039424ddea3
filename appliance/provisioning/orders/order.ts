// The order for the service OS, from the plan of its node. An order holds no secret: it is stored beside its ticket.

import type { Json } from '../../domain/event.ts';
import { prefixText } from '../../domain/ipv4.ts';
import type { SessionMode } from '../../domain/session.ts';
import type { DiskImage, DiskSelector } from '../../domain/system.ts';
import type { NodePlan, PlannedLink } from '../../render/node-plan.ts';
import { nixosPlanProblems } from '../installers/nixos/order.ts';

/** An image as the machine fetches it. */
export interface ServedImage extends Pick<DiskImage, 'sha256' | 'format'> {
  readonly url: string;
  /** Null: the server was not asked. */
  readonly bytes: number | null;
  /** What a compressed image unpacks to, at least; null: unknown. */
  readonly unpackedBytes: number | null;
}

/** The files of a NoCloud seed, in the order in which they are written. */
export const SEED_FILES = ['meta-data', 'user-data', 'vendor-data', 'network-config'] as const;

const ANY_DISK: DiskSelector = {
  byId: null,
  serial: null,
  model: null,
  minBytes: null,
  maxBytes: null,
  rotational: null,
};

export interface InstallCalls {
  /** Answers every client that can reach the appliance. */
  readonly home: string;
  /** Where the installed system enrolls; null: it does not enroll by itself. */
  readonly nodeApi: string | null;
}

/** `neighbours`: the cards whose cables must be as declared before anything is written. */
export const installOrder = (
  plan: NodePlan,
  image: ServedImage,
  { home, nodeApi }: InstallCalls,
  neighbours: readonly string[] = [],
): Json => ({
  mode: 'install',
  node: plan.hostname,
  profile: plan.profile.name,
  image: { url: image.url, sha256: image.sha256, format: image.format, bytes: writtenBytes(image) },
  disk: diskJson(imageDisk(plan, image)),
  network: {
    links: plan.links.map(linkJson),
    gateway: plan.gateway,
    nameservers: plan.nameservers,
    call_home: home,
    ...(nodeApi !== null && { node_api: nodeApi }),
  },
  seed: SEED_FILES,
  grow: true,
  boot_entry: `Coldiron ${plan.hostname}`,
  ...(neighbours.length > 0 && { neighbours }),
});

/** What in a plan prevents its installation. */
export function installProblems(plan: NodePlan): string[] {
  const { profile, storage } = plan;
  if (profile.kind === 'nixos') return nixosProblems(plan);
  if (profile.kind !== 'cloud-image') {
    return [`profile ${profile.name} is of kind ${profile.kind}; only cloud-image and nixos can be installed`];
  }
  if (storage === null || (storage.layout === 'single' && storage.disks.length === 1)) return [];
  return [`profile ${profile.name} writes an image to one disk, but its storage layout is ${storage.layout}`];
}

/** NixOS has its own installer. */
const nixosProblems = (plan: NodePlan): string[] => [
  ...nixosPlanProblems(plan),
  ...(plan.storage?.layout === 'luks'
    ? [
        `profile ${plan.profile.name} encrypts its disks, and the appliance does not store their passphrase: install it from its rendering`,
      ]
    : []),
];

const MEMORY_TEST_MEGABYTES = 64;

/** `neighbours`: the cards that wait for the LLDP frame of their switch. */
export const commissionOrder = (hostname: string, neighbours: readonly string[] = []): Json => ({
  mode: 'commission',
  node: hostname,
  ...(neighbours.length > 0 && { neighbours }),
  tests: [{ name: 'memory', megabytes: MEMORY_TEST_MEGABYTES }, { name: 'disk' }, { name: 'network' }],
});

export const eraseOrder = (hostname: string): Json => ({ mode: 'erase', node: hostname, disks: 'all' });

export const inspectOrder = (hostname: string): Json => ({ mode: 'inspect', node: hostname });

export const rescueOrder = (hostname: string, authorizedKeys: readonly string[], minutes: number): Json => ({
  mode: 'rescue',
  node: hostname,
  authorized_keys: authorizedKeys,
  minutes,
});

/** The session mode of a boot outcome. */
export const modeOf = (
  outcome: { readonly kind: 'installer' } | { readonly kind: 'service-os'; readonly mode: SessionMode },
): SessionMode => (outcome.kind === 'installer' ? 'install' : outcome.mode);

/** The bytes on the disk; unknown for a compressed image. */
const writtenBytes = ({ format, bytes }: ServedImage): number | null => (format === 'raw' ? bytes : null);

/** The target disk of an image; a disk that is smaller than the image does not match. */
export function imageDisk(plan: NodePlan, image: ServedImage): DiskSelector {
  const disk = plan.storage?.disks[0] ?? ANY_DISK;
  return { ...disk, minBytes: Math.max(disk.minBytes ?? 1, writtenBytes(image) ?? image.unpackedBytes ?? 1) };
}

const diskJson = (disk: DiskSelector): Json => ({
  by_id: disk.byId,
  serial: disk.serial,
  model: disk.model,
  min_bytes: disk.minBytes,
  max_bytes: disk.maxBytes,
  rotational: disk.rotational,
});

const linkJson = (link: PlannedLink): Json => ({
  kind: link.kind,
  name: link.name,
  ...kindJson(link),
  address:
    link.address === null || link.address === 'dhcp'
      ? link.address
      : `${link.address.ip}/${link.address.prefix.length}`,
  mtu: link.mtu,
  routes: link.routes.map(({ to, via }) => ({ to: prefixText(to), via })),
});

function kindJson(link: PlannedLink): { readonly [key: string]: Json } {
  switch (link.kind) {
    case 'ethernet':
      return { mac: link.mac };
    case 'bond':
      return { mode: link.mode, members: link.members };
    case 'vlan':
      return { id: link.id, parent: link.parent };
  }
}
