// Which of the asked options hold (RFC 2347): blksize (RFC 2348), timeout and tsize (RFC 2349), windowsize (RFC 7440).
// Only what was asked is answered, never with more than was asked: EDK2 ends the boot over an answer that raises a value
// ("Malformatted OACK packet"). What is unknown, malformed or out of range is passed over, as if it had not been asked.

import type { TftpMode, TftpOptions } from './packet.ts';

export interface NegotiationLimits {
  /** What fits the interface: its MTU less 32 bytes of IP, UDP and TFTP headers. */
  readonly maxBlockSize: number;
  /** 1: windows are never granted, for ROMs that ask for them and then stall. */
  readonly maxWindowSize: number;
}

/** What a transfer runs under. */
export interface TransferTerms {
  readonly blockSize: number;
  readonly windowSize: number;
  /** null: not agreed, the server's own schedule holds. */
  readonly timeoutSeconds: number | null;
  /** What the OACK says, in the order asked. Empty: there is no OACK, the first answer is DATA 1. */
  readonly acknowledged: TftpOptions;
}

const DEFAULT_BLOCK_SIZE = 512;
const RANGES = { blksize: [8, 65464], timeout: [1, 255], windowsize: [1, 65535] } as const;

/**
 * Block numbers wrap at 65536. With a window beyond half of that, a late ACK from behind the window could not be told
 * from one inside it.
 */
const MAX_UNAMBIGUOUS_WINDOW = 32767;

export function negotiate(
  options: TftpOptions,
  limits: NegotiationLimits,
  fileSize: number,
  mode: Exclude<TftpMode, 'mail'>,
): TransferTerms {
  const blockSize = askedNumber(options, 'blksize', Math.max(limits.maxBlockSize, RANGES.blksize[0]));
  const windowLimit = Math.min(limits.maxWindowSize, MAX_UNAMBIGUOUS_WINDOW);
  const windowSize = windowLimit > 1 ? askedNumber(options, 'windowsize', windowLimit) : null;
  // Echoed or left out, never changed (RFC 2349 §2).
  const timeoutSeconds = askedNumber(options, 'timeout', RANGES.timeout[1]);
  const answers = new Map([
    ['blksize', blockSize],
    ['windowsize', windowSize],
    ['timeout', timeoutSeconds],
    // EDK2 boots nothing without it (PXE-E53). In netascii the size on the wire is another than the file's.
    ['tsize', mode === 'octet' ? fileSize : null],
  ]);
  const acknowledged = new Map<string, string>();
  for (const name of options.keys()) {
    const answer = answers.get(name) ?? null;
    if (answer !== null) acknowledged.set(name, String(answer));
  }
  return { blockSize: blockSize ?? DEFAULT_BLOCK_SIZE, windowSize: windowSize ?? 1, timeoutSeconds, acknowledged };
}

/** null: not asked, or not a number in the option's range. */
function askedNumber(options: TftpOptions, name: keyof typeof RANGES, limit: number): number | null {
  const [least, most] = RANGES[name];
  const value = options.get(name) ?? '';
  const asked = /^\d{1,5}$/.test(value) ? Number(value) : Number.NaN;
  return asked >= least && asked <= most ? Math.min(asked, limit) : null;
}
