// The failures of an IPMI session. The messages are written for operators. For code that is independent of the protocol it is a
// BmcError.

import { COMPLETION, isPassing } from '../../codecs/ipmi/completion-code.ts';
import { BmcError, type BmcFailure } from '../bmc-error.ts';

export type IpmiFailure =
  /** The BMC never replied. */
  | 'unreachable'
  /** The BMC replied before, and stopped replying. */
  | 'vanished'
  | 'wrong-user'
  | 'wrong-password'
  | 'wrong-bmc-key'
  | 'privilege'
  | 'slots-full'
  | 'console-taken'
  | 'no-cipher-suite'
  | 'unauthenticated'
  | 'too-old'
  /** IPMI does not have the function. */
  | 'unsupported'
  /** The completion code of the reply is an error. */
  | 'refused'
  | 'malformed'
  /** The BMC accepted a change and then reports another value. */
  | 'contradiction'
  | 'closed';

const BMC_FAILURES: Readonly<Record<IpmiFailure, BmcFailure>> = {
  unreachable: 'unreachable',
  vanished: 'vanished',
  'wrong-user': 'authentication',
  'wrong-password': 'authentication',
  'wrong-bmc-key': 'authentication',
  privilege: 'privilege',
  'slots-full': 'busy',
  'console-taken': 'busy',
  'no-cipher-suite': 'untrusted',
  unauthenticated: 'untrusted',
  'too-old': 'untrusted',
  unsupported: 'unsupported',
  refused: 'refused',
  malformed: 'malformed',
  contradiction: 'contradiction',
  closed: 'closed',
};

export class IpmiError extends BmcError {
  /** The IPMI-specific reason; `failure` is its generic category. */
  readonly reason: IpmiFailure;
  /** The completion code of the refused command. */
  readonly completionCode: number | null;

  constructor(
    reason: IpmiFailure,
    message: string,
    extra: { readonly retryable?: boolean; readonly completionCode?: number; readonly readBack?: string } = {},
  ) {
    const failure =
      reason === 'refused' && extra.completionCode !== undefined
        ? failureOfCode(extra.completionCode)
        : BMC_FAILURES[reason];
    const { completionCode: _, ...generic } = extra;
    super(failure, message, generic);
    this.name = 'IpmiError';
    this.reason = reason;
    this.completionCode = extra.completionCode ?? null;
  }
}

function failureOfCode(code: number): BmcFailure {
  if (isPassing(code)) return 'busy';
  if (code === COMPLETION.insufficientPrivilege) return 'privilege';
  return code === COMPLETION.invalidCommand ? 'unsupported' : 'refused';
}
