// Which disks an installer may modify. Only names below /dev/disk/by-id mean the same to every installer; serial number, model
// and size are interpreted differently, or match several disks of which the installer picks the first.

import { shown } from '../../domain/parsed.ts';
import type { Secret } from '../../domain/secret.ts';
import type { DiskSelector, Storage } from '../../domain/system.ts';
import type { NodePlan } from '../node-plan.ts';
import type { FirstBootExtras } from './first-boot.ts';
import { urlProblems } from './plan-problems.ts';

export interface InstallerExtras extends FirstBootExtras {
  /** How the machine boots: decides what the boot loader needs on the disk. */
  readonly firmware: 'efi' | 'bios';
  /** Base URL of the files of this rendering, with a trailing slash. */
  readonly filesUrl: string;
  /** The package mirror; null: the installer's default. */
  readonly mirrorUrl: string | null;
  /** Unlocks the disks of the layout `luks` at every boot; null if nothing asks for it. */
  readonly diskPassphrase: Secret | null;
}

export const diskPath = (name: string): string => `/dev/disk/by-id/${name}`;

/** udev names contain only these characters; any other is a mistake or an attack. */
const BY_ID = /^[A-Za-z0-9_][A-Za-z0-9_.:+@=,#-]*$/;

export interface StorageRules {
  readonly installer: string;
  /** Layouts that it supports, each with the largest number of disks. */
  readonly layouts: Readonly<Partial<Record<Storage['layout'], number>>>;
  /** Unlocks encrypted disks with a passphrase. Others use the machine's TPM. */
  readonly asksPassphrase: boolean;
}

export function storageProblems(plan: NodePlan, extras: InstallerExtras, rules: StorageRules): string[] {
  const { storage } = plan;
  if (storage === null) return [`storage: ${rules.installer} partitions the disks and needs a layout (storage:)`];
  const most = rules.layouts[storage.layout];
  if (most === undefined) {
    const known = Object.keys(rules.layouts).join(', ');
    return [`storage.layout: ${rules.installer} does not support layout ${storage.layout}; it supports ${known}`];
  }
  const least = storage.layout === 'mirror' ? 2 : 1;
  const names = storage.disks.map(({ byId }) => byId);
  return [
    ...(storage.disks.length < least || storage.disks.length > most
      ? [`storage.disks: ${rules.installer} needs ${amount(least, most)} for ${storage.layout}, not ${names.length}`]
      : []),
    ...storage.disks.flatMap((disk, index) => diskProblems(disk, `storage.disks[${index}]`, rules.installer)),
    ...(storage.layout === 'luks' && rules.asksPassphrase ? passphraseProblems(extras) : []),
    ...(new Set(names).size < names.length ? ['storage.disks: the same disk is named twice'] : []),
  ];
}

function passphraseProblems({ diskPassphrase }: InstallerExtras): string[] {
  if (diskPassphrase === null) return ['diskPassphrase: the layout luks needs a passphrase'];
  return PASSPHRASE.test(passphraseText(diskPassphrase))
    ? []
    : ['diskPassphrase: it needs at least 12 characters, only letters, digits and . _ ~ + / = @ ^ , : -'];
}

/** Characters that every installer and every console keyboard layout enters alike. */
const PASSPHRASE = /^[A-Za-z0-9._~+/=@^,:-]{12,512}$/;

/** Use only in files that are marked secret. */
export const passphraseText = (secret: Secret): string => new TextDecoder().decode(secret.reveal());

const amount = (least: number, most: number): string => {
  if (least === most) return least === 1 ? 'one disk' : `${least} disks`;
  return most === Number.POSITIVE_INFINITY ? `${least} disks or more` : `${least} to ${most} disks`;
};

function diskProblems(disk: DiskSelector, place: string, installer: string): string[] {
  const others = (['serial', 'model', 'minBytes', 'maxBytes', 'rotational'] as const).filter(
    (field) => disk[field] !== null,
  );
  return [
    ...others.map((field) => `${place}.${field}: ${installer} cannot select by it safely; select the disk by its id`),
    ...(disk.byId === null && others.length === 0 ? [`${place}: the disk has no id`] : []),
    ...(disk.byId !== null && !BY_ID.test(disk.byId)
      ? [`${place}.byId is not a name below /dev/disk/by-id: ${shown(disk.byId)}`]
      : []),
  ];
}

export const installerProblems = (extras: InstallerExtras): string[] => [
  ...urlProblems(extras.filesUrl, 'filesUrl'),
  ...(extras.filesUrl.endsWith('/') ? [] : ['filesUrl does not end with a slash']),
  ...(extras.mirrorUrl === null ? [] : urlProblems(extras.mirrorUrl, 'mirrorUrl')),
];

/** Call only after storageProblems() returned nothing. */
export const diskPaths = (storage: Storage): string[] =>
  storage.disks.flatMap(({ byId }) => (byId === null ? [] : [diskPath(byId)]));
