// nixos-anywhere reports progress only in lines like `### Installing NixOS ###`. Here is what they mean to us, and the
// time limit of each step: nixos-anywhere itself waits forever.

import { HOUR, type Instant, MINUTE } from '../../../domain/instant.ts';

/** The steps of a NixOS installation, in order, for pull and push. */
export const INSTALL_STEPS = [
  'prepare',
  'connect',
  'partition',
  'copy-system',
  'secrets',
  'install',
  'reboot',
] as const;
export type InstallStep = (typeof INSTALL_STEPS)[number];

export interface PushProgress {
  readonly step: InstallStep;
  readonly status: 'started' | 'progress' | 'done' | 'failed';
  /** Progress within this step. */
  readonly percent: number | null;
  readonly message: string | null;
  /** The end of the output of nixos-anywhere, escaped. */
  readonly log: string | null;
}

export interface AnywhereStep {
  readonly step: InstallStep;
  /** How much of our step is done at this line. */
  readonly percent: number;
  readonly limit: Instant;
}

/** Before its first line it evaluates the flake and, where this machine can, builds the system. */
export const BEFORE_FIRST_LINE: AnywhereStep = { step: 'prepare', percent: 0, limit: 2 * HOUR };

const FINISHED = 'Done!';

const TABLE: readonly (readonly [line: RegExp, means: AnywhereStep])[] = [
  [/^Uploading install SSH keys$/, { step: 'connect', percent: 0, limit: 2 * MINUTE }],
  // After the facts the system is built, if it was not built before.
  [/^Gathering machine facts$/, { step: 'connect', percent: 50, limit: 2 * HOUR }],
  [/^Generating /, { step: 'connect', percent: 70, limit: 10 * MINUTE }],
  [/^Uploading .+ to \//, { step: 'partition', percent: 0, limit: 20 * MINUTE }],
  [/^Building disko script$/, { step: 'partition', percent: 10, limit: 30 * MINUTE }],
  [/^Formatting hard drive with disko$/, { step: 'partition', percent: 40, limit: 30 * MINUTE }],
  [/^Uploading the system closure$/, { step: 'copy-system', percent: 0, limit: HOUR }],
  [/^Building the system closure$/, { step: 'copy-system', percent: 0, limit: 2 * HOUR }],
  [/^Copying extra files$/, { step: 'secrets', percent: 0, limit: 5 * MINUTE }],
  [/^Installing NixOS$/, { step: 'install', percent: 0, limit: 30 * MINUTE }],
  [/^Rebooting$/, { step: 'reboot', percent: 0, limit: 5 * MINUTE }],
  [/^Waiting for the machine to become unreachable/, { step: 'reboot', percent: 50, limit: 10 * MINUTE }],
];

export type AnywhereLine =
  | { readonly kind: 'step'; readonly name: string; readonly means: AnywhereStep | null }
  | { readonly kind: 'finished' }
  | { readonly kind: 'aborted'; readonly reason: string }
  | { readonly kind: 'other' };

/** A step that is not in the table keeps its name: a newer nixos-anywhere may have more of them. */
export function readAnywhereLine(line: string): AnywhereLine {
  const name = /^### (.+) ###$/.exec(line)?.[1];
  if (name === FINISHED) return { kind: 'finished' };
  if (name !== undefined) {
    return { kind: 'step', name, means: TABLE.find(([pattern]) => pattern.test(name))?.[1] ?? null };
  }
  const reason = /^aborted: (.+)$/.exec(line)?.[1];
  return reason === undefined ? { kind: 'other' } : { kind: 'aborted', reason };
}
