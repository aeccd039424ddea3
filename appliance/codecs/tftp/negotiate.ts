// Negotiates options (RFC 2347): blksize (RFC 2348), timeout and tsize (RFC 2349), windowsize (RFC 7440). Only requested
// options are acknowledged, and never with a higher value: EDK2 aborts the boot when the OACK raises a value
// ("Malformatted OACK packet"). Unknown, malformed and out-of-range options are ignored.

import type { TftpMode, TftpOptions } from './packet.ts';

export interface NegotiationLimits {
  /** The largest block for the interface: its MTU minus 32 bytes of IP, UDP and TFTP headers. */
  readonly maxBlockSize: number;
  /** 1: never grant windows, for ROMs that request them and then stall. */
  readonly maxWindowSize: number;
}

/** The negotiated parameters of a transfer. */
export interface TransferTerms {
  readonly blockSize: number;
  readonly windowSize: number;
  /** null: not negotiated, the server uses its own timeout. */
  readonly timeoutSeconds: number | null;
  /** Contents of the OACK, in the requested order. Empty: no OACK, the first reply is DATA 1. */
  readonly acknowledged: TftpOptions;
}

const DEFAULT_BLOCK_SIZE = 512;
const RANGES = { blksize: [8, 65464], timeout: [1, 255], windowsize: [1, 65535] } as const;

/**
 * Block numbers wrap at 65536. With a window larger than half of that, a late ACK from before the window could not be
 * distinguished from one inside it.
 */
const MAX_UNAMBIGUOUS_WINDOW = 32767;

export function negotiate(
  options: TftpOptions,
  limits: NegotiationLimits,
  fileSize: number,
  mode: Exclude<TftpMode, 'mail'>,
): TransferTerms {
  const blockSize = requestedNumber(options, 'blksize', Math.max(limits.maxBlockSize, RANGES.blksize[0]));
  const windowLimit = Math.min(limits.maxWindowSize, MAX_UNAMBIGUOUS_WINDOW);
  const windowSize = windowLimit > 1 ? requestedNumber(options, 'windowsize', windowLimit) : null;
  // Echoed or omitted, never changed (RFC 2349 §2).
  const timeoutSeconds = requestedNumber(options, 'timeout', RANGES.timeout[1]);
  const answers = new Map([
    ['blksize', blockSize],
    ['windowsize', windowSize],
    ['timeout', timeoutSeconds],
    // EDK2 does not boot without it (PXE-E53). In netascii the size on the wire differs from the file size.
    ['tsize', mode === 'octet' ? fileSize : null],
  ]);
  const acknowledged = new Map<string, string>();
  for (const name of options.keys()) {
    const answer = answers.get(name) ?? null;
    if (answer !== null) acknowledged.set(name, String(answer));
  }
  return { blockSize: blockSize ?? DEFAULT_BLOCK_SIZE, windowSize: windowSize ?? 1, timeoutSeconds, acknowledged };
}

/** null: not requested, or not a number in the option's range. */
function requestedNumber(options: TftpOptions, name: keyof typeof RANGES, limit: number): number | null {
  const [least, most] = RANGES[name];
  const value = options.get(name) ?? '';
  const requested = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  return requested >= least && requested <= most ? Math.min(requested, limit) : null;
}
