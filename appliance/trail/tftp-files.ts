// What a name over TFTP tells about the boot: which program asks, and for what.

export type TftpPart =
  /** A program that firmware or shim starts. */
  | 'loader'
  /** The configuration that is one machine's own: GRUB's counterpart of its script. */
  | 'configuration'
  /** Whatever else GRUB reads: it runs. */
  | 'grub'
  /** iPXE 2 asks for autoexec.ipxe: it runs. */
  | 'ipxe'
  /** A kernel or an initrd, which the signed GRUB takes by TFTP. */
  | 'image'
  /** Asked for by every boot of its kind, and seldom there. */
  | 'optional';

const PARTS: readonly (readonly [pattern: RegExp, part: TftpPart])[] = [
  [/^boot\//, 'image'],
  [/^grub\/machine\//, 'configuration'],
  [/(?:^|\/)grub\.cfg|^grub\//, 'grub'],
  [/\.ipxe$/, 'ipxe'],
  [/(?:^|\/)(?:revocations_|shim_certificate_|pxelinux\.cfg\/)|\.lst$/, 'optional'],
];

export const tftpPart = (file: string): TftpPart => PARTS.find(([pattern]) => pattern.test(file))?.[1] ?? 'loader';

/** shim, GRUB, iPXE and PXELINUX ask for these whether anybody has them or not: that they are missing is no news. */
export const isSeldomThere = (file: string): boolean =>
  tftpPart(file) === 'optional' || /\.lst$|(?:^|\/)autoexec\.ipxe$/.test(file);
