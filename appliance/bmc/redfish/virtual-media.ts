// Inserts a disk image from a URL into the machine's virtual CD drive. Every firmware accepts another subset of the fields.

import type { ImageChoice } from '../bmc.ts';
import { BmcError } from '../bmc-error.ts';
import type { Read, RedfishCaller } from './caller.ts';
import { change } from './change.ts';
import { memberPaths } from './collection.ts';
import type { MediaForm } from './quirks.ts';
import { isRefusal, oneLine } from './refusal.ts';
import { booleanAt, linkAt, pathOf, type Resource, textAt, textsAt } from './resource.ts';

export interface VirtualDrive {
  readonly id: string;
  readonly mediaTypes: readonly string[];
  /** The URL of the image; null: empty, or not reported. */
  readonly image: string | null;
  readonly inserted: boolean;
}

const MOST_DRIVES = 16;

export async function virtualDrives(bmc: RedfishCaller): Promise<VirtualDrive[]> {
  return (await drives(bmc)).map(({ path, resource }) => {
    const image = textAt(resource, 'Image');
    return {
      id: oneLine(textAt(resource, 'Id') ?? path),
      mediaTypes: textsAt(resource, 'MediaTypes').map(oneLine),
      image: image === null ? null : oneLine(image),
      inserted: isLoaded(resource),
    };
  });
}

/** Reads back; idempotent. */
export async function insertMedia(bmc: RedfishCaller, image: string, replaces: ImageChoice): Promise<void> {
  const url = imageUrl(image);
  const drive = await cdDrive(bmc);
  if (isLoaded(drive.resource)) {
    const held = textAt(drive.resource, 'Image');
    if (held === url.href) return;
    if (!replaces(held)) throw new BmcError('refused', 'the virtual drive holds another image: eject it first');
    await eject(bmc, drive);
  }
  const { quirks } = await bmc.service();
  await firstAccepted(insertBodies(url, quirks.media).map((body) => () => insert(bmc, drive, body)));
  let shown: Resource = {};
  const matches = await bmc.until(bmc.limits.settle, async () => {
    shown = (await bmc.read(drive.path)).resource;
    const reported = textAt(shown, 'Image');
    // Some BMCs do not report the image.
    return isLoaded(shown) && (reported === null || reported === url.href) ? true : null;
  });
  if (matches) return;
  const is = isLoaded(shown) ? (textAt(shown, 'Image') ?? 'an image') : 'an empty drive';
  throw new BmcError('contradiction', `the BMC accepted ${url.href}, but shows ${is}`);
}

export async function ejectMedia(bmc: RedfishCaller, which: ImageChoice): Promise<void> {
  const all = await drives(bmc);
  const cd = cdDriveOf(all);
  for (const drive of all) {
    if (!isLoaded(drive.resource)) continue;
    const held = textAt(drive.resource, 'Image');
    if ((held !== null || drive === cd) && which(held)) await eject(bmc, drive);
  }
}

function imageUrl(image: string): URL {
  const url = URL.canParse(image) ? new URL(image) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new BmcError('refused', 'the image for the virtual drive must be an http or https URL');
  }
  if (url.username !== '' || url.password !== '') {
    throw new BmcError(
      'refused',
      'the URL of an image must contain no user name and no password: BMCs show it to all their users',
    );
  }
  return url;
}

/** New services have the drives at the system, older ones at its manager. */
async function drives(bmc: RedfishCaller): Promise<Read[]> {
  const { systemPath, managerPaths } = await bmc.service();
  for (const owner of [systemPath, ...managerPaths]) {
    const collection = linkAt((await bmc.read(owner)).resource, 'VirtualMedia');
    const paths = collection === null ? [] : await memberPaths(bmc, collection, MOST_DRIVES);
    const found: Read[] = [];
    for (const path of paths) found.push(await bmc.read(path));
    if (found.length > 0) return found;
  }
  throw new BmcError('unsupported', 'this BMC has no virtual drives; some BMCs need a licence for them');
}

async function cdDrive(bmc: RedfishCaller): Promise<Read> {
  const drive = cdDriveOf(await drives(bmc));
  if (drive === null) throw new BmcError('unsupported', 'none of the virtual drives of this BMC accepts a CD image');
  return drive;
}

function cdDriveOf(all: readonly Read[]): Read | null {
  const taking = (...types: readonly string[]): Read | undefined =>
    all.find(({ resource }) => textsAt(resource, 'MediaTypes').some((type) => types.includes(type)));
  return taking('CD', 'DVD') ?? taking('USBStick') ?? null;
}

const isLoaded = (drive: Resource): boolean => booleanAt(drive, 'Inserted') ?? textAt(drive, 'Image') !== null;

/** The form that this firmware is known to accept first, then all others. */
export function insertBodies(url: URL, first: MediaForm): readonly Resource[] {
  const Image = url.href;
  const protocol = { TransferProtocolType: url.protocol === 'https:' ? 'HTTPS' : 'HTTP' };
  const forms: Readonly<Record<MediaForm, Resource>> = {
    full: { Image, Inserted: true, WriteProtected: true },
    inserted: { Image, Inserted: true },
    image: { Image },
    transfer: { Image, ...protocol },
    stream: { Image, ...protocol, TransferMethod: 'Stream', Inserted: true, WriteProtected: true },
    'named-none': { Image, ...protocol, TransferMethod: 'Stream', UserName: 'none', Password: 'none' },
  };
  return Object.values({ [first]: forms[first], ...forms });
}

async function insert(bmc: RedfishCaller, drive: Read, body: Resource): Promise<void> {
  const target = actionOf(drive, 'InsertMedia');
  // Lenovo's SD530 has no action: PATCH the drive itself.
  if (target === null) await change(bmc, drive, body);
  else await bmc.act(target, body);
}

async function eject(bmc: RedfishCaller, drive: Read): Promise<void> {
  const target = actionOf(drive, 'EjectMedia');
  // iLO requires a body, if only an empty one.
  if (target === null) await change(bmc, drive, { Image: null, Inserted: false });
  else await bmc.act(target, {});
  // iDRAC shows the image for some seconds longer.
  const isEmpty = async (): Promise<true | null> => (isLoaded((await bmc.read(drive.path)).resource) ? null : true);
  if (await bmc.until(bmc.limits.settle, isEmpty)) return;
  throw new BmcError(
    'contradiction',
    'the BMC accepted the eject from its virtual drive, but still shows an image in it',
  );
}

const actionOf = ({ resource }: Read, name: string): string | null =>
  pathOf(textAt(resource, 'Actions', `#VirtualMedia.${name}`, 'target'));

/** After a refusal of one form the next is tried; the operator sees the first refusal. */
async function firstAccepted(tries: readonly (() => Promise<void>)[]): Promise<void> {
  let first: unknown = null;
  for (const attempt of tries) {
    try {
      await attempt();
      return;
    } catch (error) {
      if (!isRefusal(error)) throw error;
      first ??= error;
    }
  }
  throw first;
}
