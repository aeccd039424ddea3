// A password that is never an argument: from a file, from standard input, or typed without being shown.

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ColdironError } from '../domain/errors.ts';

const READABLE_BY_ALL = 0o004;

export async function readSecret(file: string | undefined, prompt: string): Promise<string> {
  const secret = withoutLineEnd(await found(file, prompt));
  if (secret === '') throw new ColdironError('usage', `${prompt}: it is empty`);
  if (/[\r\n]/.test(secret)) throw new ColdironError('usage', `${prompt}: it has several lines`);
  return secret;
}

export function readSecretFile(file: string, what: string): string {
  try {
    const handle = openSync(file, 'r');
    try {
      const found = fstatSync(handle);
      // What a shell hands over as a file (`<(pass show bmc)`) is a pipe, and nobody else's.
      if (found.isFile() && (found.mode & READABLE_BY_ALL) !== 0) {
        throw new ColdironError('usage', `everybody can read the file of ${what}: chmod 0600 ${file}`);
      }
      return withoutLineEnd(readFileSync(handle, 'utf8'));
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    if (error instanceof ColdironError) throw error;
    throw new ColdironError('usage', `cannot read the file of ${what}: ${(error as Error).message}`);
  }
}

async function found(file: string | undefined, prompt: string): Promise<string> {
  if (file !== undefined) return readSecretFile(file, prompt);
  return process.stdin.isTTY ? typedUnseen(prompt) : text(process.stdin);
}

const withoutLineEnd = (value: string): string => value.replace(/\r?\n$/, '');

/** readline repeats what is typed to its output, and this one is not the screen. */
async function typedUnseen(prompt: string): Promise<string> {
  process.stderr.write(`${prompt}: `);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  try {
    return await reader.question('');
  } finally {
    reader.close();
    process.stderr.write('\n');
  }
}
