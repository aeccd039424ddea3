// The failures of a BMC driver, independent of the protocol. The messages are written for operators.

export type BmcFailure =
  /** The BMC never replied. */
  | 'unreachable'
  /** The BMC replied before, and stopped replying. */
  | 'vanished'
  /** Wrong user, password or key. Never retried automatically: BMCs lock users after failed logins. */
  | 'authentication'
  /** The user is valid but lacks the privilege. */
  | 'privilege'
  /** All sessions, or the only console, are in use. */
  | 'busy'
  /** The BMC cannot prove its identity: its certificate changed, or it offers no acceptable cipher suite. */
  | 'untrusted'
  /** This BMC, or its protocol, does not have the function. */
  | 'unsupported'
  /** The BMC rejected the request. */
  | 'refused'
  /** The reply cannot be parsed. */
  | 'malformed'
  /** The BMC accepted a change and then reports another value. */
  | 'contradiction'
  /** No request was sent, because of too many recent failed logins. */
  | 'locked-out'
  | 'closed';

const RETRYABLE: ReadonlySet<BmcFailure> = new Set(['unreachable', 'vanished', 'busy', 'locked-out']);

export class BmcError extends Error {
  readonly failure: BmcFailure;
  /** A later retry can succeed. */
  readonly retryable: boolean;
  /** The boot device that the BMC reports instead of the one that it accepted; null: not a matter of the boot device. */
  readonly readBack: string | null;

  constructor(
    failure: BmcFailure,
    message: string,
    extra: { readonly retryable?: boolean; readonly cause?: unknown; readonly readBack?: string } = {},
  ) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'BmcError';
    this.failure = failure;
    this.retryable = extra.retryable ?? RETRYABLE.has(failure);
    this.readBack = extra.readBack ?? null;
  }
}
