// IPMI v2.0 §13.24, table 13-15: why a BMC rejects an Open Session or RAKP message.

import { hexByte } from './bytes.ts';

/** The cause of a rejection, which decides what to try next. */
export type RefusalKind = 'resources' | 'cipher-suite' | 'privilege' | 'user' | 'password' | 'protocol';

const STATUS_CODES: Readonly<Record<number, readonly [RefusalKind, string]>> = {
  1: ['resources', 'no resources for another session'],
  2: ['protocol', 'invalid session id'],
  3: ['protocol', 'invalid payload type'],
  4: ['cipher-suite', 'invalid authentication algorithm'],
  5: ['cipher-suite', 'invalid integrity algorithm'],
  6: ['cipher-suite', 'no matching authentication payload'],
  7: ['cipher-suite', 'no matching integrity payload'],
  8: ['protocol', 'inactive session id'],
  9: ['privilege', 'invalid role'],
  10: ['privilege', 'role or privilege level not allowed'],
  11: ['resources', 'no resources for a session of this role'],
  12: ['user', 'invalid name length'],
  13: ['user', 'unauthorized name'],
  14: ['protocol', 'unauthorized GUID'],
  15: ['password', 'invalid integrity check value'],
  16: ['cipher-suite', 'invalid confidentiality algorithm'],
  17: ['cipher-suite', 'no cipher suite match'],
  18: ['protocol', 'illegal or unrecognized parameter'],
};

/** RAKP 3 with this status tells the BMC that its RAKP 2 failed verification. */
export const INVALID_CHECK_VALUE = 0x0f;

export const refusalOf = (status: number): { kind: RefusalKind; words: string } => {
  const [kind, words] = STATUS_CODES[status] ?? ['protocol', 'a status that IPMI does not define'];
  return { kind, words: `${words} (${hexByte(status)})` };
};
