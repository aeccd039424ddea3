// Every way in which a BMC fails us, whatever it speaks, in words for the person who has to do something about it.

export type BmcFailure =
  /** Nothing ever answered. */
  | 'unreachable'
  /** It answered, and then no more. */
  | 'vanished'
  /** Wrong user, password or key. Never tried again by itself: BMCs lock users who guess. */
  | 'authentication'
  /** The user is known and may not do this. */
  | 'privilege'
  /** All sessions, or the one console, are taken. */
  | 'busy'
  /** It cannot show that it is who it was: another certificate, no cipher suite worth using. */
  | 'untrusted'
  /** This BMC, or the protocol it speaks, does not have it. */
  | 'unsupported'
  /** It said no. */
  | 'refused'
  /** It said what cannot be understood. */
  | 'malformed'
  /** It accepted something and then shows something else. */
  | 'contradiction'
  /** Nobody asked it: too many failed logins lately. */
  | 'locked-out'
  | 'closed';

const PASSING: ReadonlySet<BmcFailure> = new Set(['unreachable', 'vanished', 'busy', 'locked-out']);

export class BmcError extends Error {
  readonly failure: BmcFailure;
  /** Trying the same again later can help. */
  readonly retryable: boolean;

  constructor(
    failure: BmcFailure,
    message: string,
    extra: { readonly retryable?: boolean; readonly cause?: unknown } = {},
  ) {
    super(message, extra.cause === undefined ? undefined : { cause: extra.cause });
    this.name = 'BmcError';
    this.failure = failure;
    this.retryable = extra.retryable ?? PASSING.has(failure);
  }
}
