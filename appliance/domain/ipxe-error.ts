// iPXE's error numbers in words. The number has 31 bits: the upper seven are the POSIX error in iPXE's own numbering, the rest
// names the place in iPXE's source and the cause (https://ipxe.org/err). The POSIX error decides what a person can do.

import { shown } from './parsed.ts';

/** By the upper seven bits. Only errors that loading and starting an image can have. */
const WORDS: Readonly<Record<number, string>> = {
  2: 'access denied',
  4: 'no address or no configuration for the network card',
  11: 'cancelled at the keyboard',
  13: 'connection aborted',
  14: 'connection refused: nothing listens at this address and port',
  15: 'connection reset',
  22: 'the file is too large',
  23: 'no route to the appliance',
  28: 'invalid argument',
  29: 'input/output error: the server answered with an error, or the transfer broke off',
  38: 'the network is down: check the cable',
  40: 'the network is unreachable: no route or no gateway',
  44: 'no network card that iPXE can use',
  45: 'file not found',
  46: 'exec format error: the file is no kernel, is damaged, or is for another architecture',
  49: 'out of memory: the files do not fit into the memory of the machine',
  52: 'no space left for the file',
  56: 'not connected: the card has no link',
  60: 'not supported by this build of iPXE',
  62: 'host name not found',
  65: 'operation not permitted: rejected by Secure Boot or by a certificate check',
  67: 'protocol error: the server answered something unexpected',
  76: 'connection timed out: packets do not arrive',
};

/** `2e008001 (exec format error: …)`; a number that is not in the table stays a number. */
export function ipxeErrorText(errno: string): string {
  const number = /^[0-9a-f]{8}$/i.test(errno) ? Number.parseInt(errno, 16) : null;
  const words = number === null ? undefined : WORDS[(number >>> 24) & 0x7f];
  return words === undefined ? shown(errno) : `${errno} (${words})`;
}
