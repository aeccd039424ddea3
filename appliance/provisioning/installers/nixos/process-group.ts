// Runs a program in its own process group, line by line, and ends every process of the group with it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { type Instant, SECOND } from '../../../domain/instant.ts';

export interface GroupRun {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly onLine: (line: string, from: 'output' | 'error') => void;
  /** Aborting it ends the whole group. */
  readonly signal: AbortSignal;
  /** The time between SIGTERM and SIGKILL. */
  readonly gracePeriod: Instant;
}

export type GroupEnd =
  | { readonly kind: 'exited'; readonly code: number }
  | { readonly kind: 'killed'; readonly by: string }
  /** It could not be started. */
  | { readonly kind: 'absent'; readonly reason: string };

const POLL_EVERY = 50;
/** A killed process that still exists has not been reaped yet. */
const GONE_WITHIN = 2 * SECOND;

/** Returns when the program has exited, its output was read, and its group is empty. */
export async function runGroup(run: GroupRun): Promise<GroupEnd> {
  const child = spawn(run.command, run.args, {
    cwd: run.folder,
    env: { ...run.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // setsid(2): its process id is also its group id, and it has no controlling terminal.
    detached: true,
  });
  const started = await once(child, 'spawn').then(
    () => null,
    (error: Error) => error.message,
  );
  if (started !== null || child.pid === undefined)
    return { kind: 'absent', reason: started ?? 'no process was started' };
  const group = child.pid;
  const lines = [
    readLines(child.stdout, (line) => run.onLine(line, 'output')),
    readLines(child.stderr, (line) => run.onLine(line, 'error')),
  ];
  let ending: Promise<void> | null = null;
  const end = (): void => {
    ending ??= endGroup(group, run.gracePeriod);
  };
  if (run.signal.aborted) end();
  run.signal.addEventListener('abort', end, { once: true });
  const [code, by] = await once(child, 'exit');
  run.signal.removeEventListener('abort', end);
  // Ends also what it left running: that holds the pipes open, and has no parent now.
  end();
  await ending;
  await Promise.all(lines);
  return code === null ? { kind: 'killed', by: String(by) } : { kind: 'exited', code };
}

/** A machine can print without ever ending a line: what exceeds this is dropped. */
const LONGEST_LINE = 8192;

async function readLines(stream: NodeJS.ReadableStream, onLine: (line: string) => void): Promise<void> {
  const decoder = new StringDecoder('utf8');
  let line = '';
  let afterReturn = false;
  for await (const chunk of stream) {
    const text = decoder.write(Buffer.from(chunk));
    const parts = (afterReturn && text.startsWith('\n') ? text.slice(1) : text).split(/\r\n|\n|\r/);
    afterReturn = text.endsWith('\r');
    for (const [index, part] of parts.entries()) {
      if (index > 0) {
        onLine(line);
        line = '';
      }
      line += part.slice(0, LONGEST_LINE - line.length);
    }
  }
  if (line !== '') onLine(line);
}

async function endGroup(group: number, gracePeriod: Instant): Promise<void> {
  if (!signalGroup(group, 'SIGTERM') || (await isGone(group, gracePeriod))) return;
  signalGroup(group, 'SIGKILL');
  await isGone(group, GONE_WITHIN);
}

async function isGone(group: number, within: Instant): Promise<boolean> {
  const deadline = performance.now() + within;
  while (performance.now() < deadline) {
    if (!signalGroup(group, 0)) return true;
    await pause(POLL_EVERY);
  }
  return !signalGroup(group, 0);
}

/** False: the group is empty. */
function signalGroup(group: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-group, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
    throw error;
  }
}
