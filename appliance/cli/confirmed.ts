// Asks for confirmation before an irreversible action. Does not prompt when standard input is not a terminal.

import { createInterface } from 'node:readline/promises';
import { ColdironError } from '../domain/errors.ts';

export interface Confirmation {
  readonly yes: boolean | undefined;
  /** The consequence, as the error message says it: "this erases the disks of node01". */
  readonly means: string;
  /** What the typed word confirms: "to release node01". */
  readonly purpose: string;
}

/** Returns the word when --yes was given or the user typed it. */
export async function confirmed(word: string, { yes, means, purpose }: Confirmation): Promise<string> {
  if (yes) return word;
  const refusal = `${means}: add --yes, or type ${word} when asked`;
  if (!process.stdin.isTTY) throw new ColdironError('usage', refusal);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await prompt.question(`Type ${word} ${purpose}: `);
  prompt.close();
  if (typed.trim() !== word) throw new ColdironError('usage', refusal);
  return word;
}
