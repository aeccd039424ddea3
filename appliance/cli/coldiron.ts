// The entry point of ./coldiron: runs the verb, prints one message for a failure, and exits with the code of the table.

import { CommanderError } from 'commander';
import { ColdironError, ERRORS } from '../domain/errors.ts';
import { buildProgram } from './program.ts';
import { jsonText, printableLines } from './terminal.ts';

const program = buildProgram();

// Writes are asynchronous, so no caller can catch their errors.
process.stdout.on('error', (error) => process.exit(report(error)));

try {
  await program.parseAsync();
} catch (error) {
  process.exitCode = report(error);
}

function report(error: unknown): number {
  // Commander has printed its own message; help and version are not failures.
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : ERRORS.usage.exit;
  if (error instanceof ColdironError) {
    if (process.argv.includes('--json')) {
      process.stdout.write(`${jsonText({ code: error.code, message: error.message, details: error.details })}\n`);
    } else {
      process.stderr.write(`coldiron: ${printableLines(error.message)}\n`);
      for (const detail of error.details) process.stderr.write(`  ${printableLines(detail)}\n`);
      process.stderr.write(`  → ${printableLines(error.hint)}\n`);
    }
    return ERRORS[error.code].exit;
  }
  if (isBrokenPipe(error)) return 0; // the reader closed the pipe, as `| head` does
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`coldiron: ${printableLines(text)}\n`);
  return ERRORS.internal.exit;
}

function isBrokenPipe(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EPIPE';
}
