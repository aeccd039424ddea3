// What cannot be undone is asked for once more. Nothing prompts when nobody is there to answer.

import { createInterface } from 'node:readline/promises';
import { ColdironError } from '../domain/errors.ts';

export interface Confirmation {
  readonly yes: boolean | undefined;
  /** What would happen, as the refusal says it: "this ends node01 for good". */
  readonly means: string;
  /** What the word is typed for: "to end it for good". */
  readonly asked: string;
}

/** The word, when --yes was given or it was typed. */
export async function confirmed(word: string, { yes, means, asked }: Confirmation): Promise<string> {
  if (yes) return word;
  const refusal = `${means}: add --yes, or type ${word} when asked`;
  if (!process.stdin.isTTY) throw new ColdironError('usage', refusal);
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const typed = await prompt.question(`Type ${word} ${asked}: `);
  prompt.close();
  if (typed.trim() !== word) throw new ColdironError('usage', refusal);
  return word;
}
