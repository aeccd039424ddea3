// Which disks an installer may touch. Only names below /dev/disk/by-id mean the same to every installer; a serial number, a
// model or a size means something else to each, or picks the first of several that match.

import { shown } from '../../domain/parsed.ts';
import type { Secret } from '../../domain/secret.ts';
import type { DiskSelector, Storage } from '../../domain/system.ts';
import type { NodePlan } from '../node-plan.ts';
import type { FirstBootExtras } from './first-boot.ts';
import { urlProblems } from './plan-problems.ts';

export interface InstallerExtras extends FirstBootExtras {
  /** How the machine starts: it decides what the boot loader needs on the disk. */
  readonly firmware: 'efi' | 'bios';
  /** Below which the files of this rendering are served, with a slash at its end. */
  readonly filesUrl: string;
  /** Where packages come from; null: the installer's own idea of it. */
  readonly mirrorUrl: string | null;
  /** Opens the disks of the layout `luks` at every start; null where nothing asks for one. */
  readonly diskPassphrase: Secret | null;
}

export const diskPath = (name: string): string => `/dev/disk/by-id/${name}`;

/** Beyond what udev puts into such a name, only a person's mistake or malice would. */
const BY_ID = /^[A-Za-z0-9_][A-Za-z0-9_.:+@=,#-]*$/;

export interface StorageRules {
  readonly installer: string;
  /** Layouts that it can make, each with the most disks it can make it of. */
  readonly layouts: Readonly<Partial<Record<Storage['layout'], number>>>;
  /** Opens encrypted disks with a passphrase. Others have the machine's TPM do it. */
  readonly asksPassphrase: boolean;
}

export function storageProblems(plan: NodePlan, extras: InstallerExtras, rules: StorageRules): string[] {
  const { storage } = plan;
  if (storage === null) return [`storage: ${rules.installer} divides the disk itself and must be told how`];
  const most = rules.layouts[storage.layout];
  if (most === undefined) {
    const known = Object.keys(rules.layouts).join(', ');
    return [`storage.layout: ${rules.installer} cannot make ${storage.layout} safely; it can make ${known}`];
  }
  const least = storage.layout === 'mirror' ? 2 : 1;
  const names = storage.disks.map(({ byId }) => byId);
  return [
    ...(storage.disks.length < least || storage.disks.length > most
      ? [`storage.disks: ${rules.installer} makes ${storage.layout} of ${amount(least, most)}, not ${names.length}`]
      : []),
    ...storage.disks.flatMap((disk, index) => diskProblems(disk, `storage.disks[${index}]`, rules.installer)),
    ...(storage.layout === 'luks' && rules.asksPassphrase ? passphraseProblems(extras) : []),
    ...(new Set(names).size < names.length ? ['storage.disks: the same disk is named twice'] : []),
  ];
}

function passphraseProblems({ diskPassphrase }: InstallerExtras): string[] {
  if (diskPassphrase === null) return ['diskPassphrase: the layout luks needs one'];
  return PASSPHRASE.test(passphraseText(diskPassphrase))
    ? []
    : ['diskPassphrase: it needs 12 or more letters, digits and any of . _ ~ + / = @ ^ , : -'];
}

/** What every installer and every keyboard at a console spells alike. */
const PASSPHRASE = /^[A-Za-z0-9._~+/=@^,:-]{12,512}$/;

/** Only into what is marked secret. */
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
    ...others.map((field) => `${place}.${field}: ${installer} cannot choose by it safely; name the disk by its id`),
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

/** After storageProblems() found nothing. */
export const diskPaths = (storage: Storage): string[] =>
  storage.disks.flatMap(({ byId }) => (byId === null ? [] : [diskPath(byId)]));
