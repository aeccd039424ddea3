// A node's serial console in this terminal. However it ends, the terminal is as it was before.

import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import type { ReadStream } from 'node:tty';
import { CONSOLE_PROTOCOL } from '../api/upgrade.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { ESCAPE_HELP, EscapeReader } from './escape.ts';
import { pathOf } from './operate.ts';

interface ConsoleOptions extends ConnectionOptions {
  readonly steal?: boolean;
}

export async function openConsole(node: string, options: ConsoleOptions): Promise<void> {
  const connection = await connect(options);
  const path = pathOf(OPERATIONS.openNodeConsole.path, { node });
  const stream = await connection.upgrade(path, { steal: options.steal ? 'true' : undefined }, CONSOLE_PROTOCOL);
  const { stdin } = process;
  const leaveRawMode = stdin.isTTY ? enterRawMode(stdin) : () => undefined;
  try {
    if (stdin.isTTY) process.stderr.write(`[console of ${node}; ~. leaves it, ~? lists what else]\r\n`);
    await attached(stream, stdin);
  } finally {
    stream.destroy();
    stdin.pause();
    leaveRawMode();
  }
}

async function attached(stream: Duplex, keyboard: NodeJS.ReadStream): Promise<void> {
  const ended = once(stream, 'close');
  // A connection that breaks is closed too; what it said last is on the screen.
  stream.on('error', () => stream.destroy());
  stream.on('data', (bytes: Buffer) => void process.stdout.write(bytes));
  stream.on('end', () => stream.destroy());
  keyboard.on('data', typing(stream, keyboard.isTTY === true));
  await ended;
}

/** A program that feeds us has no use for escapes, and its data may contain anything. */
function typing(stream: Duplex, atTerminal: boolean): (keys: Buffer) => void {
  if (!atTerminal) return (bytes) => void stream.write(bytes);
  const escapes = new EscapeReader();
  return (keys) => {
    const { send, wants } = escapes.read(keys);
    if (send.length > 0) stream.write(send);
    if (wants === 'help') process.stderr.write(`\r\n${ESCAPE_HELP.join('\r\n')}\r\n`);
    if (wants === 'leave') {
      process.stderr.write('\r\n[left the console]\r\n');
      stream.end();
      stream.destroy();
    }
  };
}

const ENDING_SIGNALS = ['SIGTERM', 'SIGHUP', 'SIGINT', 'SIGQUIT'] as const;

/** Returns how to leave it. A signal or a failure leaves it too. */
function enterRawMode(terminal: ReadStream): () => void {
  const leave = (): void => {
    terminal.setRawMode(false);
    process.off('exit', leave);
    for (const signal of ENDING_SIGNALS) process.off(signal, leaveAndEnd);
  };
  const leaveAndEnd = (signal: NodeJS.Signals): void => {
    leave();
    process.kill(process.pid, signal);
  };
  terminal.setRawMode(true);
  process.on('exit', leave);
  for (const signal of ENDING_SIGNALS) process.on(signal, leaveAndEnd);
  return leave;
}
