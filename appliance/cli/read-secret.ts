// Reads a password from a file, from standard input, or from the keyboard without echo. It is never an argument.

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { ColdironError } from '../domain/errors.ts';

const READABLE_BY_ALL = 0o004;

export async function readSecret(file: string | undefined, prompt: string): Promise<string> {
  const secret = withoutLineEnd(await found(file, prompt));
  if (secret === '') throw new ColdironError('usage', `${prompt}: the value is empty`);
  if (/[\r\n]/.test(secret)) throw new ColdironError('usage', `${prompt}: the value has several lines`);
  return secret;
}

export function readSecretFile(file: string, what: string): string {
  try {
    const handle = openSync(file, 'r');
    try {
      const found = fstatSync(handle);
      // A shell's process substitution (`<(pass show bmc)`) is a pipe that only this user can read.
      if (found.isFile() && (found.mode & READABLE_BY_ALL) !== 0) {
        throw new ColdironError('usage', `every user can read the file of ${what}: run chmod 0600 ${file}`);
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

/** readline echoes to its output, which is not the screen here. */
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
