// Derives from a TFTP file name which program requests the file and for what.

export type TftpFileKind =
  /** A program that firmware or shim starts. */
  | 'loader'
  /** The GRUB configuration of one machine: the counterpart of its iPXE script. */
  | 'configuration'
  /** Any other file that GRUB reads: GRUB runs. */
  | 'grub'
  /** iPXE 2 requests autoexec.ipxe: iPXE runs. */
  | 'ipxe'
  /** A kernel or initrd, which the signed GRUB fetches over TFTP. */
  | 'image'
  /** Requested by every boot of its kind, and usually missing. */
  | 'optional';

const FILE_KINDS: readonly (readonly [pattern: RegExp, kind: TftpFileKind])[] = [
  [/^boot\//, 'image'],
  [/^grub\/machine\//, 'configuration'],
  [/(?:^|\/)grub\.cfg|^grub\//, 'grub'],
  [/\.ipxe$/, 'ipxe'],
  [/(?:^|\/)(?:revocations_|shim_certificate_|pxelinux\.cfg\/)|\.lst$/, 'optional'],
];

export const tftpFileKind = (file: string): TftpFileKind =>
  FILE_KINDS.find(([pattern]) => pattern.test(file))?.[1] ?? 'loader';

/** shim, GRUB, iPXE and PXELINUX always try these files: a missing one is not worth an event. */
export const isOptionalTftpFile = (file: string): boolean =>
  tftpFileKind(file) === 'optional' || /\.lst$|(?:^|\/)autoexec\.ipxe$/.test(file);
