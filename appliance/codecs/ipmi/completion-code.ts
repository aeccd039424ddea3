// IPMI v2.0 §5.2, table 5-2: completion codes. Codes 80 to BE have a different meaning for each command.

import { hexByte } from './bytes.ts';

export const COMPLETED = 0x00;

export const COMPLETION = {
  busy: 0xc0,
  invalidCommand: 0xc1,
  timeout: 0xc3,
  reservationLost: 0xc5,
  cannotReturnThatMany: 0xca,
  notPresent: 0xcb,
  invalidField: 0xcc,
  cannotRespond: 0xce,
  duplicate: 0xcf,
  initializing: 0xd2,
  insufficientPrivilege: 0xd4,
  notInPresentState: 0xd5,
  unspecified: 0xff,
} as const;

const WORDS: Readonly<Record<number, string>> = {
  192: 'the BMC is busy',
  193: 'the BMC does not support this command',
  194: 'the BMC does not support this command at this logical unit',
  195: 'the command timed out in the BMC',
  196: 'the BMC is out of space',
  197: 'the reservation was lost',
  198: 'the request was truncated',
  199: 'the request has the wrong length',
  200: 'the request is too long',
  201: 'a parameter is out of range',
  202: 'the BMC cannot return that many bytes at once',
  203: 'the requested sensor, data or record does not exist',
  204: 'the BMC does not accept a field of the request',
  205: 'the command is not allowed for this sensor or record',
  206: 'the BMC could not provide a response',
  207: 'the BMC treats it as a duplicate request',
  208: 'the sensor repository is being updated',
  209: 'the BMC is in firmware update mode',
  210: 'the BMC is still starting',
  211: 'the destination cannot be reached',
  212: 'the user lacks the privilege for this command',
  213: 'the command is not possible in the current state',
  214: 'the function is disabled',
  255: 'unspecified error',
};

/** Worth a retry after a short delay: the cause is the state of the BMC, not the request. */
const TRANSIENT: ReadonlySet<number> = new Set([0xc0, 0xc3, 0xce, 0xcf, 0xd0, 0xd1, 0xd2]);

export const isPassing = (code: number): boolean => TRANSIENT.has(code);

export const completionWords = (code: number, ofCommand: Readonly<Record<number, string>> = {}): string =>
  `${ofCommand[code] ?? WORDS[code] ?? 'a code that IPMI does not define for this command'} (${hexByte(code)})`;
