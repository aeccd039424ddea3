// Every way in which speaking IPMI fails, in words for the person who has to do something about it. To whoever only knows
// BMCs it is a BmcError like any other.

import { COMPLETION, isPassing } from '../../codecs/ipmi/completion-code.ts';
import { BmcError, type BmcFailure } from '../bmc-error.ts';

export type IpmiFailure =
  /** Nothing ever answered. */
  | 'unreachable'
  /** It answered, and then no more. */
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
  /** IPMI has no word for what was asked. */
  | 'unsupported'
  /** The BMC answered a command with a completion code other than done. */
  | 'refused'
  | 'malformed'
  /** The BMC accepted something and then shows something else. */
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
  /** What IPMI itself tells apart; `failure` is what it comes to. */
  readonly reason: IpmiFailure;
  /** Of the command that was refused. */
  readonly completionCode: number | null;

  constructor(
    reason: IpmiFailure,
    message: string,
    extra: { readonly retryable?: boolean; readonly completionCode?: number } = {},
  ) {
    const failure =
      reason === 'refused' && extra.completionCode !== undefined
        ? failureOfCode(extra.completionCode)
        : BMC_FAILURES[reason];
    super(failure, message, extra.retryable === undefined ? {} : { retryable: extra.retryable });
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
