// Clients abort a transfer with an ERROR. Whether the client aborted deliberately or reports a problem shows only in the
// message: EDK2 sends code 8 for both.

import { TFTP_ERRORS } from './packet.ts';

/**
 *   EDK2          8 "User aborted the transfer" (it has the size), 4 "User aborted download"
 *   Intel, iPXE   0 "TFTP Aborted"
 *   GRUB          0 "closed"
 *   Raspberry Pi  0 "Early terminate"
 * Problems are 8 "Malformatted OACK packet", and 3: the file is larger than the client's memory.
 */
export function isDeliberateClose(code: number, message: string): boolean {
  if (code === TFTP_ERRORS.notDefined && message === '') return true;
  return CLOSING_CODES.has(code) && /abort|clos|terminat|cancel/i.test(message);
}

const CLOSING_CODES: ReadonlySet<number> = new Set([
  TFTP_ERRORS.notDefined,
  TFTP_ERRORS.illegalOperation,
  TFTP_ERRORS.optionRefused,
]);
