// One row of the signature table: a line on a machine's console that says why it does not go on, with its meaning and its source.

/** The program that prints the line. */
export const CONSOLE_STAGES = ['firmware', 'loader', 'kernel', 'initramfs', 'service-os', 'system'] as const;
export type ConsoleStage = (typeof CONSOLE_STAGES)[number];

/** `note`: part of an ordinary boot in some situations. `warning`: something is broken. `error`: the boot or the work ends here. */
export const CONSOLE_SEVERITIES = ['note', 'warning', 'error'] as const;
export type ConsoleSeverity = (typeof CONSOLE_SEVERITIES)[number];

export interface ConsoleSignature {
  /** Stable: events store it. */
  readonly id: string;
  readonly stage: ConsoleStage;
  readonly severity: ConsoleSeverity;
  /** A text that each matching line contains, in the same case: it is searched first. */
  readonly has: string;
  /** For one clean line. Repetitions are bounded, because the line comes from the machine. */
  readonly pattern: RegExp;
  /** One sentence without its full stop. */
  readonly means: string;
  /** What a person can do. */
  readonly advice: string;
  /** The program and the place in its source that prints the line. */
  readonly source: string;
  readonly example: string;
}

type Told = Omit<ConsoleSignature, 'stage'>;

/** The rows of one stage. */
export const atStage = (stage: ConsoleStage, rows: readonly Told[]): readonly ConsoleSignature[] =>
  rows.map((row) => ({ ...row, stage }));
