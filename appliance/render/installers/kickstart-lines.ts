// Lines of a kickstart file. Anaconda splits each into words as a shell does (pykickstart uses Python's shlex), so a word
// with special characters is single-quoted.

import { ColdironError } from '../../domain/errors.ts';
import { lineProblem } from '../formats/plain-text.ts';

const PLAIN = /^[A-Za-z0-9_@%+=:,./^-]+$/;

export function commandLine(...words: readonly string[]): string {
  return words.map((word) => quoted(word, words[0] ?? '')).join(' ');
}

function quoted(word: string, command: string): string {
  const problem = lineProblem(word);
  if (problem !== null) {
    throw new ColdironError('invalid_inventory', `a word of kickstart command ${command} ${problem}`);
  }
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
