// `diagnose`: why nodes are stuck or have failed. Without a node, what is wrong with the site right now.

import { setTimeout as pause } from 'node:timers/promises';
import type { Answer } from '../contract/wire.ts';
import { type Connection, type ConnectionOptions, connect } from './connection.ts';
import { isSelecting, type SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, printJson, standardOutput, styled } from './terminal.ts';

interface DiagnoseOptions extends ConnectionOptions, SelectionOptions {
  readonly watch?: boolean;
}

const ASK_AGAIN_MS = 3_000;

export async function diagnose(names: readonly string[], options: DiagnoseOptions): Promise<void> {
  const connection = await connect(options);
  if (!options.watch) return diagnoseOnce(connection, names, options);
  for (;;) {
    const { write } = standardOutput();
    if (!options.json) write(`--- ${new Date().toISOString().slice(11, 19)} UTC\n`);
    await diagnoseOnce(connection, names, options);
    await pause(ASK_AGAIN_MS);
  }
}

async function diagnoseOnce(connection: Connection, names: readonly string[], options: DiagnoseOptions): Promise<void> {
  if (names.length === 0 && !isSelecting(options)) return diagnoseSite(connection, options);
  await readNodes(connection, names, options, {
    verb: 'diagnose',
    read: (node) => operate(connection, 'diagnoseNode', { params: { node } }),
    print: printDiagnosis,
  });
}

async function diagnoseSite(connection: Connection, { json }: DiagnoseOptions): Promise<void> {
  const output = standardOutput();
  const answer = await operate(connection, 'diagnoseSite', {});
  const { problems: own } = await operate(connection, 'listApplianceProblems', {});
  if (json) return printJson(output, { ...answer, appliance: own });
  for (const { words, next_step } of own) {
    output.write(`${styled(output, 'bold', `This appliance: ${printable(words)}`)}\n→ ${printable(next_step)}\n\n`);
  }
  for (const problem of answer.problems) printProblem(output, problem);
  output.write(summaryOf(answer, own.length));
}

function summaryOf({ looked_at, in_time, problems }: Answer<'diagnoseSite'>, own: number): string {
  if (looked_at === 0) return own === 0 ? 'No problem found: no node is being worked on, failed or silent.\n' : '';
  const waiting = in_time === 0 ? '' : ` ${in_time} of ${looked_at} nodes in work are in time.`;
  return problems.length === 0 ? `No problem found.${waiting}\n` : `${waiting.trim()}${waiting ? '\n' : ''}`;
}

function printProblem(
  output: Output,
  { summary, nodes, next_step, since }: Answer<'diagnoseSite'>['problems'][number],
): void {
  output.write(`${styled(output, 'bold', printable(summary))}\n`);
  const shown = nodes.slice(0, 10).map(printable).join(', ');
  output.write(`  ${shown}${nodes.length > 10 ? ` and ${nodes.length - 10} more` : ''}, since ${printable(since)}\n`);
  output.write(`→ ${printable(next_step)}\n\n`);
}

export function printDiagnosis(
  output: Output,
  answer: Pick<Answer<'diagnoseNode'>, 'node' | 'state' | 'waits_for' | 'symptom' | 'diagnosis' | 'alternatives'>,
): void {
  const { node, diagnosis, alternatives, state, waits_for, symptom } = answer;
  if (diagnosis === null) {
    output.write(`No problem found for ${node}: its state is ${state}. ${waits_for}\n`);
    if (symptom !== null) output.write(`${printable(symptom)}.\n`);
    return;
  }
  output.write(`${styled(output, 'bold', printable(diagnosis.reason))}\n`);
  if (symptom !== null) output.write(`  ${printable(symptom)}\n`);
  printCause(output, diagnosis);
  if (alternatives.length === 0) return;
  output.write(`\nOther causes that fit less:\n`);
  for (const other of alternatives.slice(0, 4)) {
    output.write(`- ${printable(other.reason)} (${other.confidence})\n`);
    output.write(`  → ${printable(other.next_step)}\n`);
  }
}

type Cause = NonNullable<Answer<'diagnoseNode'>['diagnosis']>;

function printCause(output: Output, { confidence, owner, evidence, against, next_step, verify }: Cause): void {
  for (const one of evidence) output.write(`  ${evidenceLine(one)}\n`);
  for (const one of against) output.write(`  against: ${evidenceLine(one)}\n`);
  output.write(`  confidence: ${confidence}; owner: ${owner}\n`);
  output.write(`→ ${printable(next_step)}\n`);
  output.write(`  To verify: ${printable(verify)}\n`);
}

const evidenceLine = ({ at, source, words }: Cause['evidence'][number]): string =>
  `${at === null ? 'now' : printable(at)}, ${source}: ${printable(words)}`;
