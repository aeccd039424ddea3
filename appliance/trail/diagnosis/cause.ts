// The type of a cause, and the helpers that the causes share. Sentences are templates, so that docs/diagnosis.md is generated from the
// same text that operators read.

import type { EventKind } from '../../domain/events/event-table.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import { awaitsEnrollment } from '../../domain/lifecycle.ts';
import { fileOf, isTftpFile, type Seen, type TftpFailure } from './boot-events.ts';
import type { Signs } from './signs.ts';
import type { Stage } from './stages.ts';

/** `certain`: the evidence states the cause itself. `likely`: nothing else that is known explains it as well. */
export const CONFIDENCES = ['certain', 'likely', 'possible'] as const;
export type Confidence = (typeof CONFIDENCES)[number];

/** Where a piece of evidence comes from. */
export const SOURCES = ['machine', 'console', 'bmc', 'appliance', 'node', 'network', 'operator'] as const;
export type Source = (typeof SOURCES)[number];

/** Who can remedy a cause: the people of the network, of the machine and its firmware, of the system on the node, of this appliance, or who decides. */
export const OWNERS = ['network', 'machine', 'node', 'appliance', 'operator'] as const;
export type Owner = (typeof OWNERS)[number];

export interface Evidence {
  readonly at: Instant | null;
  readonly source: Source;
  readonly words: string;
}

/** What a cause found in the signs of one machine. */
export interface Finding {
  readonly confidence: Confidence;
  /** At least one. */
  readonly evidence: readonly Evidence[];
  readonly against?: readonly Evidence[];
  /** Fills the placeholders of the templates. `{node}`, `{again}` and `{install}` are always known. */
  readonly values?: Readonly<Record<string, string>>;
}

export interface Cause {
  /** Stable. */
  readonly id: string;
  /** Left out: the owner of its table (`owned`). */
  readonly owner?: Owner;
  /** The stages in which a machine stops for this cause; `any` also without work. */
  readonly stages: readonly Stage[] | 'any';
  /**
   * 3: names the thing at fault. 2: names what is wrong, one of several things can be at fault. 1: describes the symptom.
   * Among causes that explain a stop equally well, the more specific one is shown first.
   */
  readonly specificity: 1 | 2 | 3;
  /** What it looks for, for the documentation. */
  readonly looksFor: string;
  readonly assess: (signs: Signs) => Finding | null;
  readonly reason: string;
  readonly nextStep: string;
  /** The machine goes on by itself after the next step. Left out: where it needs a new start, the commands are added to the next step. */
  readonly goesOn?: true;
  /** How to see that the next step worked; left out: the stage after `current` begins. */
  readonly verify?: string;
}

/** The causes of a table, with their owner where they name none. */
export const owned = (owner: Owner, causes: readonly Cause[]): readonly Cause[] =>
  causes.map((cause) => ({ owner, ...cause }));

export const later = (one: Seen | null, other: Seen | null): boolean =>
  one !== null && (other === null || one.at >= other.at);

/** It stopped in this stage: the stage is overdue, or the work failed there. */
export const stoppedIn = ({ current }: Signs, ...stages: readonly Stage[]): boolean =>
  current?.overdue === true && stages.includes(current.stage);
/** It is in one of these stages, overdue or not. */
export const isIn = ({ current }: Signs, ...stages: readonly Stage[]): boolean =>
  current !== null && stages.includes(current.stage);

export const enrolling = ({ lifecycle }: Signs): boolean => awaitsEnrollment(lifecycle);

/** Evidence from an event, or none when it was not observed. */
export const seen = (one: Seen | null, words: string, source: Source = 'machine'): readonly Evidence[] =>
  one === null ? [] : [{ at: one.at, source, words }];
export const fact = (source: Source, words: string, at: Instant | null = null): Evidence => ({ at, source, words });
/** A finding if there is evidence. */
export const found = (
  confidence: Confidence,
  evidence: readonly Evidence[],
  values: Readonly<Record<string, string>> = {},
  against: readonly Evidence[] = [],
): Finding | null => (evidence.length === 0 ? null : { confidence, evidence, values, against });

/** The newest event of this kind since the work started. */
export const lastEvent = <Kind extends EventKind>({ seen: events }: Signs, kind: Kind): Seen<Kind> | null =>
  events.findLast((one): one is Seen<Kind> => one.kind === kind) ?? null;

export const stepMessage = (one: Seen<'session.step'>): string => one.data.message ?? 'no reason was reported';

export function transferFailure(one: Seen<TftpFailure | 'http.served'>): string {
  if (one.kind === 'http.served')
    return `${one.data.asset} was interrupted over HTTP after ${one.data.bytes} of ${one.data.of} bytes`;
  const file = one.kind === 'tftp.malformed' ? 'unknown' : one.data.file;
  const reason = 'why' in one.data ? one.data.why : one.data.reason;
  return `${one.kind.replace('.', ' ')}, ${file}${reason ? `: ${reason}` : ''}`;
}

export const isGrub = (one: Signs['loaderRuns']): boolean =>
  one !== null && isTftpFile(one) && !/\.ipxe$/.test(one.data.file);
export function loaderRunsText(one: NonNullable<Signs['loaderRuns']>): string {
  if (one.kind === 'dhcp.discover') return 'iPXE requested an address';
  return one.kind === 'http.entry' ? 'iPXE fetched the common script' : `it requested ${fileOf(one)}`;
}

export const durationText = (time: Instant): string => {
  const seconds = Math.max(0, Math.round(time / 1000));
  return seconds < 120 ? `${seconds} s` : `${Math.round(time / MINUTE)} min`;
};

/** Unknown placeholders stay as they are; a test requires that no cause leaves one. */
export const filled = (template: string, values: Readonly<Record<string, string>>): string =>
  template.replace(/\{([a-z_]+)\}/g, (whole, name: string) => values[name] ?? whole);
