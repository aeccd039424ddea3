// Answers for debconf, one per line: owner, question, type, and the value up to the end of the line.

import { ColdironError } from '../../domain/errors.ts';
import { lineProblem } from '../formats/plain-text.ts';

export type Answer = readonly [
  question: string,
  type: 'string' | 'boolean' | 'select' | 'multiselect' | 'password' | 'note',
  value: string,
  /** The package that owns the question; default: the installer itself. */
  owner?: string,
];

export const preseedText = (answers: readonly Answer[]): string => `#_preseed_V1\n${answers.map(answerLine).join('')}`;

function answerLine([question, type, value, owner = 'd-i']: Answer): string {
  const problem = lineProblem(value) ?? edgeProblem(value);
  if (problem !== null) throw new ColdironError('invalid_inventory', `${question} in preseed.cfg ${problem}`);
  return `${[owner, question, type, value].join(' ').trimEnd()}\n`;
}

function edgeProblem(value: string): string | null {
  if (value !== value.trim()) return 'starts or ends with a space, which debconf removes';
  return value.endsWith('\\') ? 'ends with a backslash, which joins the next line to it' : null;
}
