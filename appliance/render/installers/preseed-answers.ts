// Answers for debconf, one on a line: who asks, the question, its type, and the value up to the end of the line.

import { ColdironError } from '../../domain/errors.ts';
import { lineProblem } from '../formats/plain-text.ts';

export type Answer = readonly [
  question: string,
  type: 'string' | 'boolean' | 'select' | 'multiselect' | 'password' | 'note',
  value: string,
  /** Who asks; the installer itself where it is left out. */
  owner?: string,
];

export const preseedText = (answers: readonly Answer[]): string => `#_preseed_V1\n${answers.map(answerLine).join('')}`;

function answerLine([question, type, value, owner = 'd-i']: Answer): string {
  const problem = lineProblem(value) ?? edgeProblem(value);
  if (problem !== null) throw new ColdironError('invalid_inventory', `${question} in preseed.cfg ${problem}`);
  return `${[owner, question, type, value].join(' ').trimEnd()}\n`;
}

function edgeProblem(value: string): string | null {
  if (value !== value.trim()) return 'begins or ends with a space, which debconf leaves out';
  return value.endsWith('\\') ? 'ends with a backslash, which joins the next line to it' : null;
}
