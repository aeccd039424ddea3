// Runs the CLI as a user types it, against the management API on the socket of a state folder.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const COLDIRON = join(import.meta.dirname, '../../coldiron');

/** `input`: standard input, which is never a terminal. */
export async function runColdiron(stateDir: string, args: readonly string[], input = '') {
  const child = spawn(COLDIRON, [...args, '--state', stateDir], { stdio: 'pipe' });
  // A verb that refuses its arguments does not read its input.
  child.stdin.on('error', () => undefined).end(input);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return { status: child.exitCode, stdout, stderr };
}
