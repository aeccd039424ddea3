// Refusals of a BMC: an HTTP status, and messages from a registry (DSP0266, "Error responses"). The messages are passed on to the
// operator, without the passwords that some firmware repeats in them.

import { BmcError, type BmcFailure } from '../bmc-error.ts';
import { asResource, listAt, type Resource, textAt } from './resource.ts';

export interface ExtendedMessage {
  /** Without registry and version: `PropertyUnknown` of `Base.1.8.PropertyUnknown`. */
  readonly id: string;
  readonly words: string;
  readonly severity: string | null;
  readonly arguments: readonly string[];
}

/** A BmcError with the status and messages of the reply: callers handle some refusals. */
export class RedfishRefusal extends BmcError {
  readonly status: number;
  readonly messages: readonly ExtendedMessage[];

  constructor(failure: BmcFailure, message: string, details: RefusalDetails, retryable?: boolean) {
    super(failure, message, retryable === undefined ? {} : { retryable });
    this.status = details.status;
    this.messages = details.messages;
  }
}

interface RefusalDetails {
  readonly status: number;
  readonly messages: readonly ExtendedMessage[];
}

export function messagesIn(body: unknown): ExtendedMessage[] {
  const found = [
    ...listAt(body, 'error', '@Message.ExtendedInfo'),
    ...listAt(body, '@Message.ExtendedInfo'),
    ...propertyMessages(body),
  ].flatMap((entry) => asMessage(entry) ?? []);
  if (found.length > 0) return found;
  const words = textAt(body, 'error', 'message');
  return words === null ? [] : [{ id: idOf(textAt(body, 'error', 'code')), words, severity: null, arguments: [] }];
}

/** Messages about single properties, also in a reply whose status is a success. */
export function propertyComplaints(body: unknown): ExtendedMessage[] {
  return propertyMessages(body)
    .flatMap((entry) => asMessage(entry) ?? [])
    .filter(({ severity }) => severity === 'Warning' || severity === 'Critical');
}

const propertyMessages = (body: unknown): readonly unknown[] =>
  Object.keys(asResource(body) ?? {})
    .filter((key) => /.@Message\.ExtendedInfo$/.test(key))
    .flatMap((key) => listAt(body, key));

function asMessage(entry: unknown): ExtendedMessage | null {
  const message: Resource | null = asResource(entry);
  if (!message) return null;
  // Lists and objects are no arguments, and some cannot even be converted to text.
  const args = listAt(message, 'MessageArgs').flatMap((arg) => (typeof arg === 'object' ? [] : String(arg)));
  const id = idOf(textAt(message, 'MessageId'));
  // iLO sends only ids and arguments.
  const words = textAt(message, 'Message') ?? [id, ...args].join(' ');
  const resolution = textAt(message, 'Resolution');
  return {
    id,
    words: resolution === null || /^none\.?$/i.test(resolution) ? words : `${words} ${resolution}`,
    severity: textAt(message, 'MessageSeverity') ?? textAt(message, 'Severity'),
    arguments: args,
  };
}

const idOf = (code: string | null): string => code?.split('.').at(-1) ?? '';

const SESSIONS_TAKEN = new Set(['SessionLimitExceeded', 'RAC0218', 'MaxSessionsReached', 'NoSessionAvailable']);

/** By message first: firmware differs less in messages than in status codes. */
const FAILURES_BY_MESSAGE: ReadonlyMap<string | null, BmcFailure> = new Map([
  ['InsufficientPrivilege', 'privilege'],
  ['PasswordChangeRequired', 'privilege'],
  ['AccessDenied', 'privilege'],
  ['ActionNotSupported', 'unsupported'],
  ['ActionParameterNotSupported', 'unsupported'],
  ['ActionParameterValueNotInList', 'unsupported'],
  ['PropertyUnknown', 'unsupported'],
  ['PropertyNotWritable', 'unsupported'],
  ['PropertyValueNotInList', 'unsupported'],
  ['OperationNotAllowed', 'unsupported'],
  ['OemLicenseNotPassed', 'unsupported'],
  ['LicenseKeyRequired', 'unsupported'],
]);

const FAILURES_BY_STATUS: Readonly<Record<number, BmcFailure>> = {
  401: 'authentication',
  403: 'privilege',
  404: 'unsupported',
  405: 'unsupported',
  501: 'unsupported',
};

/** Temporary refusals: the caller decides what to retry, and for how long. */
const TEMPORARY = new Set([
  // iDRAC 9 while its data manager starts.
  'SYS518',
  'SYS446',
  // iLO 5 and 6 while the machine is in its power-on self-test.
  'UnableToModifyDuringSystemPOST',
  'InvalidOperationForSystemState',
  'ServiceTemporarilyUnavailable',
  'ServiceInUnknownState',
  'ResourceInStandby',
  'ResourceInUse',
]);

export const isTemporary = ({ status, messages }: RefusalDetails): boolean =>
  !sessionsTaken({ messages }) &&
  (status === 429 || status === 503 || (status >= 400 && messages.some(({ id }) => TEMPORARY.has(id))));

export const sessionsTaken = ({ messages }: Pick<RefusalDetails, 'messages'>): boolean =>
  messages.some(({ id }) => SESSIONS_TAKEN.has(id));

function failureOf(details: RefusalDetails): BmcFailure {
  if (sessionsTaken(details)) return 'busy';
  if (details.status === 401) return 'authentication';
  const byMessage = details.messages.flatMap(({ id }) => FAILURES_BY_MESSAGE.get(id) ?? [])[0];
  return byMessage ?? FAILURES_BY_STATUS[details.status] ?? 'refused';
}

export function refusalOf(where: string, status: number, body: unknown): RedfishRefusal {
  const details = { status, messages: messagesIn(body) };
  const words = details.messages.map((message) => message.words).join('; ') || 'no reason given';
  const ids = details.messages.map(({ id }) => id).filter((id) => id !== '');
  const source = `HTTP ${[status, ...new Set(ids)].join(' ')}`;
  const retryable = isTemporary(details) || status >= 500;
  return new RedfishRefusal(
    failureOf(details),
    `${where}: ${words} (${source})`,
    details,
    retryable && status !== 501 ? true : undefined,
  );
}

const LONGEST = 1000;

/** Untrusted text for a log line: no control characters, limited length. Remove secrets before: a truncated secret is one too. */
export function oneLine(words: string): string {
  const line = words.replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

/** Messages of the Base registry repeat the rejected value, which may be a password. */
export function withoutSecrets(words: string, secrets: Iterable<string>): string {
  let clean = words;
  for (const secret of secrets) {
    if (secret === '') continue;
    // The longest first: it may contain the others.
    const spellings = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
    for (const spelling of spellings.sort((a, b) => b.length - a.length)) {
      clean = clean.replaceAll(spelling, '[secret]');
    }
  }
  return clean;
}

export const wasRefusedAs = (error: unknown, ...failures: readonly BmcFailure[]): error is RedfishRefusal =>
  error instanceof RedfishRefusal && failures.includes(error.failure);

export const hasMessage = (error: unknown, ...ids: readonly string[]): boolean =>
  error instanceof RedfishRefusal && error.messages.some(({ id }) => ids.includes(id));

/** The request was understood and refused: another form of it may be accepted. */
export const isRefusal = (error: unknown): boolean => wasRefusedAs(error, 'refused', 'unsupported');
