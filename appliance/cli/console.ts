// A node's serial console in this terminal, and what it said before. The terminal mode is restored however it ends.

import { once } from 'node:events';
import type { Duplex } from 'node:stream';
import { CONSOLE_PROTOCOL } from '../api/upgrade.ts';
import { OPERATIONS } from '../contract/operations.ts';
import { ColdironError } from '../domain/errors.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { ESCAPE_HELP, EscapeReader } from './escape.ts';
import { operate, pathOf } from './operate.ts';
import { enterRawMode } from './raw-mode.ts';
import { printable, printJson, standardOutput } from './terminal.ts';

interface ConsoleOptions extends ConnectionOptions {
  readonly steal?: boolean;
  readonly readOnly?: boolean;
  readonly last?: boolean;
  readonly previous?: boolean;
  readonly lines?: string;
}

export async function showConsole(node: string, options: ConsoleOptions): Promise<void> {
  const shown = ['--steal', '--read-only'].filter((_, at) => (at === 0 ? options.steal : options.readOnly));
  const log = ['--previous', '--lines'].filter((_, at) => (at === 0 ? options.previous : options.lines !== undefined));
  if (options.last && shown.length > 0) throw misuse(`${shown.join(' and ')} cannot be used with --last`);
  if (!options.last && log.length > 0) throw misuse(`${log.join(' and ')} can only be used with --last`);
  if (options.steal && options.readOnly) throw misuse('--steal and --read-only exclude each other');
  await (options.last ? showLast(node, options) : openConsole(node, options));
}

const misuse = (message: string): ColdironError => new ColdironError('usage', message);

/** What the machine said, from the capture. */
async function showLast(node: string, options: ConsoleOptions): Promise<void> {
  const boot = options.previous ? 'previous' : 'current';
  const query = { boot, lines: options.lines };
  const answer = await operate(await connect(options), 'getNodeConsoleLog', { params: { node }, query });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  for (const { at, text } of answer.lines)
    output.write(`${printable(at.slice(0, 19).replace('T', ' '))}  ${printable(text)}\n`);
  if (answer.unfinished !== null) output.write(`${' '.repeat(21)}${printable(answer.unfinished)}\n`);
  if (answer.lines.length > 0 || answer.unfinished !== null) return;
  const why = answer.captured ? 'Its console is captured, and it has said nothing yet.' : NOT_CAPTURED;
  output.write(`Nothing is stored of the ${boot} boot of ${printable(answer.node)}. ${why}\n`);
}

const NOT_CAPTURED = 'Consoles are captured while nodes are worked on, over IPMI.';

async function openConsole(node: string, options: ConsoleOptions): Promise<void> {
  const connection = await connect(options);
  const path = pathOf(OPERATIONS.openNodeConsole.path, { node });
  const query = { steal: options.steal ? 'true' : undefined, read_only: options.readOnly ? 'true' : undefined };
  const stream = await connection.upgrade(path, query, CONSOLE_PROTOCOL);
  const { stdin } = process;
  const leaveRawMode = stdin.isTTY ? enterRawMode(stdin) : () => undefined;
  try {
    if (stdin.isTTY) process.stderr.write(`[console of ${node}; ~. closes it, ~? lists the escapes]\r\n`);
    await attached(stream, stdin);
  } finally {
    stream.destroy();
    stdin.pause();
    leaveRawMode();
  }
}

async function attached(stream: Duplex, keyboard: NodeJS.ReadStream): Promise<void> {
  const ended = once(stream, 'close');
  // A broken connection is closed too; its last output is already on the screen.
  stream.on('error', () => stream.destroy());
  stream.on('data', (bytes: Buffer) => void process.stdout.write(bytes));
  stream.on('end', () => stream.destroy());
  keyboard.on('data', keyHandler(stream, keyboard.isTTY === true));
  await ended;
}

/** Escapes are read only from a terminal: piped input may contain any bytes. */
function keyHandler(stream: Duplex, atTerminal: boolean): (keys: Buffer) => void {
  if (!atTerminal) return (bytes) => void stream.write(bytes);
  const escapes = new EscapeReader();
  return (keys) => {
    const { send, action } = escapes.read(keys);
    if (send.length > 0) stream.write(send);
    if (action === 'help') process.stderr.write(`\r\n${ESCAPE_HELP.join('\r\n')}\r\n`);
    if (action === 'leave') {
      process.stderr.write('\r\n[closed the console]\r\n');
      stream.end();
      stream.destroy();
    }
  };
}
