// What an event says about a boot: which program is running, which file was fetched, whether a transfer broke off.

import type { NewEventOf } from '../../domain/event.ts';
import type { EventData, EventKind } from '../../domain/events/event-table.ts';
import { type TftpFileKind, tftpFileKind } from '../tftp-files.ts';

/** An event of one of these kinds, with its data as the event table defines it. */
export type Seen<Kind extends EventKind = EventKind> = NewEventOf<Kind>;

/** A TFTP request that names a file: a malformed one does not. */
export type TftpFileEvent = Exclude<Extract<EventKind, `tftp.${string}`>, 'tftp.malformed'>;

const TFTP_FAILURES = [
  'tftp.stalled',
  'tftp.not-found',
  'tftp.refused',
  'tftp.timeout',
  'tftp.aborted',
  'tftp.ignored',
  'tftp.error',
] as const satisfies readonly TftpFileEvent[];
export type TftpFailure = (typeof TFTP_FAILURES)[number] | 'tftp.malformed';

const WORKING = ['lifecycle.commissioning', 'lifecycle.deploying', 'lifecycle.releasing', 'lifecycle.rescue'] as const;

type Program = EventData<'dhcp.discover'>['program'];
const FIRMWARE: ReadonlySet<Program> = new Set(['firmware-pxe', 'firmware-http']);

export const isOf = <Kind extends EventKind>(one: Seen, kinds: readonly Kind[]): one is Seen<Kind> =>
  kinds.some((kind) => kind === one.kind);

/** A fallback enters the same state again: that continues the same work. */
export const startsWork = (one: Seen): boolean => isOf(one, WORKING) && one.data.before.state !== one.data.after.state;

const isDiscover = (one: Seen, matches: (program: Program) => boolean): one is Seen<'dhcp.discover'> =>
  isOf(one, ['dhcp.discover']) && matches(one.data.program);
export const isFirmwareDiscover = (one: Seen): one is Seen<'dhcp.discover'> =>
  isDiscover(one, (program) => FIRMWARE.has(program));
export const isSystemDiscover = (one: Seen): one is Seen<'dhcp.discover'> =>
  isDiscover(one, (program) => program === 'os');
export const isLoaderDiscover = (one: Seen): one is Seen<'dhcp.discover'> =>
  isDiscover(one, (program) => FIRMWARE.has(program) || program === 'ipxe');

export const isTftpFile = (one: Seen): one is Seen<TftpFileEvent> =>
  one.kind.startsWith('tftp.') && one.kind !== 'tftp.malformed';
const isFileKind = (one: Seen<TftpFileEvent>, ...kinds: TftpFileKind[]): boolean =>
  kinds.includes(tftpFileKind(one.data.file));
const isTftp = <Kind extends TftpFileEvent>(one: Seen, kinds: readonly Kind[], file: TftpFileKind): one is Seen<Kind> =>
  isOf<TftpFileEvent>(one, kinds) && isFileKind(one, file);
const isServed = (one: Seen, complete: boolean): one is Seen<'http.served'> =>
  isOf(one, ['http.served']) && one.data.complete === complete;

/** Kernels and initrds are below these two folders; loaders are elsewhere. */
const isSystem = (asset: string | undefined): boolean => asset !== undefined && /^(?:images|nixos)\//.test(asset);

export const isLoaderFetch = (one: Seen): one is Seen<'tftp.completed' | 'http.served'> =>
  isTftp(one, ['tftp.completed'], 'loader') || (isServed(one, true) && !isSystem(one.data.asset));
/** A malformed request has no file name. */
export const isLoaderFailure = (one: Seen): one is Seen<TftpFailure | 'http.served'> =>
  isTftp(one, TFTP_FAILURES, 'loader') ||
  one.kind === 'tftp.malformed' ||
  (isServed(one, false) && !isSystem(one.data.asset));
export const isLoaderProbe = (one: Seen): one is Seen<'tftp.probe' | 'http.probe'> =>
  isTftp(one, ['tftp.probe'], 'loader') || (isOf(one, ['http.probe']) && !isSystem(one.data.asset));
export const isLoaderRunning = (one: Seen): one is Seen<'dhcp.discover' | 'http.entry' | TftpFileEvent> =>
  isDiscover(one, (program) => program === 'ipxe') ||
  one.kind === 'http.entry' ||
  (isTftpFile(one) && isFileKind(one, 'grub', 'ipxe'));
export const isScript = (one: Seen): one is Seen<'http.script' | 'boot.decided'> =>
  isOf(one, ['http.script', 'boot.decided']);

export const isImageFetch = (one: Seen): one is Seen<'tftp.completed' | 'http.served'> =>
  isTftp(one, ['tftp.completed'], 'image') || (isServed(one, true) && isSystem(one.data.asset));
export const isImageFailure = (one: Seen): one is Seen<TftpFailure | 'http.served'> =>
  isTftp(one, TFTP_FAILURES, 'image') || (isServed(one, false) && isSystem(one.data.asset));
export const isLoaderBegun = (one: Seen): one is Seen<'tftp.begun'> => isTftp(one, ['tftp.begun'], 'loader');
export const isImageBegun = (one: Seen): one is Seen<'tftp.begun'> => isTftp(one, ['tftp.begun'], 'image');
/** A stalled transfer goes on. */
export const endsImage = (one: Seen): boolean =>
  isTftpFile(one) && one.kind !== 'tftp.stalled' && isFileKind(one, 'image');

/** Boot scripts and GRUB configurations name the initrd last. */
export const imagesComplete = (one: Seen): boolean => isImageFetch(one) && /(?:^|\/)initrd[^/]*$/.test(fileOf(one));

/** HTTP events have the name in the asset library, TFTP events the requested name. */
export function fileOf(one: Seen<'dhcp.loop' | 'http.served' | TftpFileEvent> | null): string {
  if (one === null) return 'unknown';
  return one.kind === 'http.served' ? one.data.asset : one.data.file;
}
