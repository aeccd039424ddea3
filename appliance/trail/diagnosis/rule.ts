// The type of a diagnosis rule, and the helpers that the rules share.

import { type Instant, instantText, MINUTE, SECOND } from '../../domain/instant.ts';
import { awaitsEnrollment, type FailedStep, runsSession } from '../../domain/lifecycle.ts';
import { isTftpFile, type Seen, type Signs, type TftpFailure, type TftpFileEvent } from './signs.ts';

export interface Diagnosis {
  /** Stable. */
  readonly id: string;
  readonly reason: string;
  readonly nextStep: string;
  /** Observed events that support the diagnosis, as text. */
  readonly evidence: readonly string[];
}

export interface Rule {
  readonly id: string;
  /** The evidence; null: the rule does not match. */
  readonly matches: (signs: Signs) => readonly string[] | null;
  readonly reason: (signs: Signs) => string;
  readonly nextStep: (signs: Signs) => string;
}

/** How long a stage may be silent before it counts as stuck. */
export const STAGE_TIMEOUT = {
  request: 40 * SECOND,
  loader: 20 * SECOND,
  script: 30 * SECOND,
  kernel: 30 * SECOND,
  system: 3 * MINUTE,
};
export const SESSION_TIMEOUT = 2 * MINUTE;
export const POWER_ON_TIMEOUT = 8 * MINUTE;

export const enrolling = ({ lifecycle }: Signs): boolean => awaitsEnrollment(lifecycle);

export const later = (one: Seen | null, other: Seen | null): boolean =>
  one !== null && (other === null || one.at >= other.at);
/** In `failed` no further event is expected, so the timeout does not apply. */
export const stuck = ({ lifecycle, now }: Signs, last: Seen | null, timeout: Instant): boolean =>
  last !== null && (lifecycle.state === 'failed' || (runsSession(lifecycle.state) && now - last.at >= timeout));
export const anyBoot = ({ firmwareDiscover, loader, loaderRuns, script, session }: Signs): boolean =>
  [firmwareDiscover, loader, loaderRuns, script].some((one) => one !== null) || session?.openedAt != null;

export const seen = (one: Seen | null, words: string): readonly string[] | null =>
  one === null ? null : [`${instantText(one.at)}: ${words}`];
export const failed = (one: Seen<'session.step'> | null, step: RegExp): readonly string[] | null =>
  one !== null && step.test(one.data.step) ? seen(one, `${one.data.step} failed: ${stepMessage(one)}`) : null;
export const stepMessage = (one: Seen<'session.step'> | null): string => one?.data.message ?? 'no reason was reported';
export function transferFailure(one: Seen<TftpFailure | 'http.served'>): string {
  if (one.kind === 'http.served')
    return `${one.data.asset} was interrupted over HTTP after ${one.data.bytes} of ${one.data.of} bytes`;
  const file = one.kind === 'tftp.malformed' ? UNKNOWN : one.data.file;
  const reason = 'why' in one.data ? one.data.why : one.data.reason;
  return `${one.kind.replace('.', ' ')}, ${file}${reason ? `: ${reason}` : ''}`;
}
/** HTTP events have the name in the asset library, TFTP events the requested name. */
export function fileOf(one: Seen<'dhcp.loop' | 'http.served' | TftpFileEvent> | null): string {
  if (one === null) return UNKNOWN;
  return one.kind === 'http.served' ? one.data.asset : one.data.file;
}
export const isGrub = (one: Signs['loaderRuns']): boolean =>
  one !== null && isTftpFile(one) && !/\.ipxe$/.test(one.data.file);
export function loaderRunsText(one: NonNullable<Signs['loaderRuns']>): string {
  if (one.kind === 'dhcp.discover') return 'iPXE requested an address';
  return one.kind === 'http.entry' ? 'iPXE fetched the common script' : `it requested ${fileOf(one)}`;
}
export const minutes = (time: Instant): string => `${Math.max(0, Math.round(time / MINUTE))} min`;

const UNKNOWN = 'unknown';
export const text = (value: string | number | undefined): string => String(value ?? UNKNOWN);

const AGAIN: Readonly<Record<FailedStep, string>> = {
  commission: 'commission',
  deploy: 'deploy',
  enroll: 'token reissue',
  drain: 'drain',
  release: 'release',
};
export const again = (step: FailedStep | undefined): string => (step ? AGAIN[step] : 'commission');
