// What a BMC says no with: an HTTP status, and messages out of a registry (DSP0266, "Error responses"). Its own words go to
// the person, without the passwords that some firmwares repeat in them.

import { BmcError, type BmcFailure } from '../bmc-error.ts';
import { asResource, listAt, type Resource, textAt } from './resource.ts';

export interface ExtendedMessage {
  /** Without registry and version: `PropertyUnknown` of `Base.1.8.PropertyUnknown`. */
  readonly id: string;
  readonly words: string;
  readonly severity: string | null;
  readonly arguments: readonly string[];
}

/** A BmcError that remembers what exactly was said: some refusals are answers. */
export class RedfishRefusal extends BmcError {
  readonly status: number;
  readonly messages: readonly ExtendedMessage[];

  constructor(failure: BmcFailure, message: string, said: Said, retryable?: boolean) {
    super(failure, message, retryable === undefined ? {} : { retryable });
    this.status = said.status;
    this.messages = said.messages;
  }
}

interface Said {
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

/** What it says about single properties, also in an answer that as a whole is a success. */
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
  const said = listAt(message, 'MessageArgs').map(String);
  const id = idOf(textAt(message, 'MessageId'));
  // iLO sends ids and arguments only.
  const words = textAt(message, 'Message') ?? [id, ...said].join(' ');
  const resolution = textAt(message, 'Resolution');
  return {
    id,
    words: resolution === null || /^none\.?$/i.test(resolution) ? words : `${words} ${resolution}`,
    severity: textAt(message, 'MessageSeverity') ?? textAt(message, 'Severity'),
    arguments: said,
  };
}

const idOf = (code: string | null): string => code?.split('.').at(-1) ?? '';

const SESSIONS_TAKEN = new Set(['SessionLimitExceeded', 'RAC0218', 'MaxSessionsReached', 'NoSessionAvailable']);

/** By message first: firmwares agree on messages more than on statuses. */
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

/** It would do it, only not now: what to ask again, and for how long, is the asker's business. */
const NOT_NOW = new Set([
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

export const isNotNow = ({ status, messages }: Said): boolean =>
  !sessionsTaken({ messages }) &&
  (status === 429 || status === 503 || (status >= 400 && messages.some(({ id }) => NOT_NOW.has(id))));

export const sessionsTaken = ({ messages }: Pick<Said, 'messages'>): boolean =>
  messages.some(({ id }) => SESSIONS_TAKEN.has(id));

function failureOf(said: Said): BmcFailure {
  if (sessionsTaken(said)) return 'busy';
  if (said.status === 401) return 'authentication';
  const byMessage = said.messages.flatMap(({ id }) => FAILURES_BY_MESSAGE.get(id) ?? [])[0];
  return byMessage ?? FAILURES_BY_STATUS[said.status] ?? 'refused';
}

export function refusalOf(where: string, status: number, body: unknown): RedfishRefusal {
  const said = { status, messages: messagesIn(body) };
  const words = said.messages.map((message) => message.words).join('; ') || 'no reason given';
  const ids = said.messages.map(({ id }) => id).filter((id) => id !== '');
  const source = `HTTP ${[status, ...new Set(ids)].join(' ')}`;
  const retryable = isNotNow(said) || status >= 500;
  return new RedfishRefusal(
    failureOf(said),
    `${where}: ${words} (${source})`,
    said,
    retryable && status !== 501 ? true : undefined,
  );
}

const LONGEST = 1000;

/** Foreign words for a log line: no control characters, and an end. Secrets are taken out before: half of one is one, too. */
export function inOneLine(words: string): string {
  const line = words.replace(/\s+/g, ' ').replace(/\p{C}/gu, '').trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

/** Messages as the Base registry has them repeat the value that was refused, and that may be a password. */
export function withoutSecrets(words: string, secrets: Iterable<string>): string {
  let clean = words;
  for (const secret of secrets) {
    if (secret === '') continue;
    // The longest first: the others may be inside it.
    const spellings = [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)];
    for (const spelling of spellings.sort((a, b) => b.length - a.length)) {
      clean = clean.replaceAll(spelling, '[secret]');
    }
  }
  return clean;
}

export const wasRefusedAs = (error: unknown, ...failures: readonly BmcFailure[]): error is RedfishRefusal =>
  error instanceof RedfishRefusal && failures.includes(error.failure);

export const saysOneOf = (error: unknown, ...ids: readonly string[]): boolean =>
  error instanceof RedfishRefusal && error.messages.some(({ id }) => ids.includes(id));

/** The request was understood and not done: another way of asking for the same may be. */
export const isAnswerNo = (error: unknown): boolean => wasRefusedAs(error, 'refused', 'unsupported');
