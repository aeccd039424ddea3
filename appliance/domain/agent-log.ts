// Log lines of node agents: what the agent did, the class of its error, and the text. The agent sends them with a number, so that a line
// that arrives twice is stored once.

import type { Instant } from './instant.ts';
import { type Parsed, parsed, shown, unparsable } from './parsed.ts';
import { plainLine } from './plain-line.ts';

/** What the agent was doing. `other`: an agent of another version names something else. */
export const LOG_ACTIONS = [
  'start',
  'enroll',
  'recover',
  'renew',
  'heartbeat',
  'wait',
  'task',
  'settings',
  'update',
  'system',
  'terminal',
  'other',
] as const;
export type LogAction = (typeof LOG_ACTIONS)[number];

/** What kind of error it met. */
export const ERROR_CLASSES = ['unreachable', 'tls', 'clock', 'refused', 'disk', 'config', 'failed', 'other'] as const;
export type ErrorClass = (typeof ERROR_CLASSES)[number];

export interface AgentLogLine {
  /** Increases by one in each stream of lines. */
  readonly number: number;
  /** By the clock of the node. */
  readonly at: Instant;
  readonly action: LogAction;
  /** Null: not an error. */
  readonly errorClass: ErrorClass | null;
  readonly message: string;
}

/** One request; more lines wait for the next. */
export const MOST_LINES = 200;
export const MOST_MESSAGE = 400;
const LINE = /^(\d{1,12}) (\d{1,12}) ([a-z-]{1,20}) ([a-z-]{1,20}) (.*)$/;

/** The lines of one request: `NUMBER SECONDS ACTION CLASS TEXT`, with `-` for no class. The text comes from a machine. */
export function readAgentLog(text: string): Parsed<AgentLogLine[]> {
  const lines: AgentLogLine[] = [];
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, number = '', seconds = '', action = '', errorClass = '', message = ''] = LINE.exec(line) ?? [];
    if (number === '') return unparsable(`not a line of an agent's log: ${shown(line.slice(0, 80))}`);
    lines.push({
      number: Number(number),
      at: Number(seconds) * 1000,
      action: LOG_ACTIONS.find((each) => each === action) ?? 'other',
      errorClass: errorClass === '-' ? null : knownClass(errorClass),
      message: plainLine(message).slice(0, MOST_MESSAGE),
    });
  }
  if (lines.length > MOST_LINES) return unparsable(`more than ${MOST_LINES} lines`);
  return parsed(lines);
}

const knownClass = (text: string): ErrorClass => ERROR_CLASSES.find((each) => each === text) ?? 'other';
