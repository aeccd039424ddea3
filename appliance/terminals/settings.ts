// The limits of terminals.

import { HOUR, type Instant, MINUTE } from '../domain/instant.ts';

export interface TerminalSettings {
  /** A terminal at which nothing was typed for this long is closed. */
  readonly idle: Instant;
  /** No terminal is open for longer. */
  readonly longest: Instant;
  readonly perNode: number;
  readonly inTotal: number;
}

export const DEFAULT_TERMINAL_SETTINGS: TerminalSettings = {
  idle: 30 * MINUTE,
  longest: 12 * HOUR,
  perNode: 4,
  inTotal: 100,
};
