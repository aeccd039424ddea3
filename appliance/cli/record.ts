// `record` saves the evidence about a node in a file; `replay` runs the boot decision and the diagnosis on it, without an appliance.

import { readFile, writeFile } from 'node:fs/promises';
import { ColdironError } from '../domain/errors.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import { printDiagnosis } from './diagnose.ts';
import { operate } from './operate.ts';
import { replayed } from './replayed.ts';
import { printable, printJson, standardOutput } from './terminal.ts';

export async function record(
  node: string,
  file: string,
  options: ConnectionOptions & { readonly json?: boolean },
): Promise<void> {
  const connection = await connect(options);
  const recording = await operate(connection, 'recordNode', { params: { node } });
  try {
    // It names machines and addresses: for its owner only, and never over a file that is there.
    await writeFile(file, `${JSON.stringify(recording, null, 2)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    throw new ColdironError('usage', `cannot write ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  const output = standardOutput();
  if (options.json) return printJson(output, { node, file });
  output.write(
    `The evidence about ${printable(node)} is in ${printable(file)}. Replay it: coldiron replay ${printable(file)}\n`,
  );
}

export async function replay(file: string, options: { readonly json?: boolean }): Promise<void> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new ColdironError('usage', `cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  });
  const result = replayed(file, text);
  const output = standardOutput();
  if (options.json) return printJson(output, result);
  const { recorded, decision, answer } = result;
  output.write(`Recorded by version ${printable(recorded.version)} at ${printable(recorded.at)}\n`);
  output.write(`Boot decision: ${printable(decision.outcome)}, because ${printable(decision.because)}\n`);
  if (decision.changed) output.write(`  (the appliance decided ${printable(decision.recorded)})\n`);
  output.write('\n');
  printDiagnosis(output, answer);
}
