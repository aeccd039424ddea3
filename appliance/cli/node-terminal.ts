// A shell on a node in this terminal, as the user of its allocation. The exit status of the shell becomes ours.

import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { OPERATIONS } from '../contract/operations.ts';
import { FrameReader, frameBytes, TERMINAL_PROTOCOL, type TerminalFrame } from '../contract/terminal-frames.ts';
import { ColdironError } from '../domain/errors.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { ESCAPE_HELP, EscapeReader } from './escape.ts';
import { operate, pathOf } from './operate.ts';
import { enterRawMode } from './raw-mode.ts';
import { printable, printJson, standardOutput, table } from './terminal.ts';

interface TerminalOptions extends ConnectionOptions {
  readonly allocation?: string;
}

type Exit = Extract<TerminalFrame, { kind: 'exit' }>;

export async function openTerminal(node: string, options: TerminalOptions): Promise<void> {
  const { stdin, stdout } = process;
  const connection = await connect(options);
  const path = pathOf(OPERATIONS.openNodeTerminal.path, { node });
  const term = process.env.TERM ?? '';
  const query = {
    ...(options.allocation !== undefined && { allocation: options.allocation }),
    ...(stdout.isTTY && { rows: String(stdout.rows), columns: String(stdout.columns) }),
    ...(/^[A-Za-z0-9_-]{1,40}$/.test(term) && { term }),
  };
  const stream = await connection.upgrade(path, query, TERMINAL_PROTOCOL);
  const leaveRawMode = stdin.isTTY ? enterRawMode(stdin) : () => undefined;
  let exit: Exit | null = null;
  try {
    if (stdin.isTTY) process.stderr.write(`[terminal on ${node}; ~. closes it, ~? lists the escapes]\r\n`);
    exit = await attached(stream, stdin);
  } finally {
    stream.destroy();
    stdin.pause();
    leaveRawMode();
  }
  finish(exit);
}

/** Null: this side left. */
function finish(exit: Exit | null): void {
  if (exit === null) return;
  if (exit.status === null) throw new ColdironError('work_failed', `the terminal was closed: ${exit.reason}`, [], '');
  process.exitCode = exit.status;
}

async function attached(stream: Duplex, keyboard: NodeJS.ReadStream): Promise<Exit | null> {
  const closed = once(stream, 'close');
  const reader = new FrameReader();
  const left = new AbortController();
  let exit: Exit | null = null;
  // A broken connection is closed too; its last output is already on the screen.
  stream.on('error', () => stream.destroy());
  stream.on('data', (bytes: Buffer) => {
    for (const frame of reader.push(bytes)) {
      if (frame.kind === 'exit') exit = frame;
      // A screen that is slower than the node slows the node down.
      if (frame.kind === 'data' && !process.stdout.write(frame.bytes)) {
        stream.pause();
        process.stdout.once('drain', () => stream.resume());
      }
    }
  });
  stream.on('end', () => stream.destroy());
  const resized = (): void => {
    const { rows, columns } = process.stdout;
    stream.write(frameBytes({ kind: 'resize', rows, columns }));
  };
  if (process.stdout.isTTY) process.stdout.on('resize', resized);
  keyboard.on(
    'data',
    keyHandler(stream, keyboard.isTTY === true, () => left.abort()),
  );
  // The end of piped input is the key for the end of a file: the shell ends after what it was given.
  keyboard.once('end', () => stream.write(frameBytes({ kind: 'data', bytes: END_OF_FILE })));
  await closed;
  process.stdout.off('resize', resized);
  if (left.signal.aborted) return null;
  return exit ?? { kind: 'exit', status: null, reason: 'the connection to the appliance broke' };
}

const END_OF_FILE = Uint8Array.of(4);

/** Escapes are read only from a terminal: piped input may contain any bytes. */
function keyHandler(stream: Duplex, atTerminal: boolean, leave: () => void): (keys: Buffer) => void {
  const send = (bytes: Uint8Array): void => {
    if (bytes.length > 0 && stream.writable) stream.write(frameBytes({ kind: 'data', bytes }));
  };
  if (!atTerminal) return send;
  const escapes = new EscapeReader();
  return (keys) => {
    const typed = escapes.read(keys);
    send(typed.send);
    if (typed.action === 'help') process.stderr.write(`\r\n${ESCAPE_HELP.join('\r\n')}\r\n`);
    if (typed.action !== 'leave') return;
    process.stderr.write('\r\n[closed the terminal]\r\n');
    leave();
    stream.destroy();
  };
}

export async function listTerminals(options: ConnectionOptions & { readonly node?: string }): Promise<void> {
  const query = options.node === undefined ? {} : { node: options.node };
  const { terminals } = await operate(await connect(options), 'listTerminals', { query });
  const output = standardOutput();
  if (options.json) return printJson(output, terminals);
  const rows = terminals.map(({ id, node, user, opened_by, opened_at, typed_at }) => [
    ...[id, node, user, opened_by, opened_at ?? '', typed_at ?? ''],
  ]);
  output.write(table(output, ['ID', 'NODE', 'USER', 'OPENED BY', 'SINCE', 'LAST KEY'], rows));
}

export async function closeTerminal(terminal: string, options: ConnectionOptions): Promise<void> {
  const closed = await operate(await connect(options), 'closeTerminal', { params: { terminal } });
  const output = standardOutput();
  if (options.json) return printJson(output, closed);
  output.write(
    `${printable(closed.id)}: the terminal of ${printable(closed.user)} on ${printable(closed.node)} is closed\n`,
  );
}
