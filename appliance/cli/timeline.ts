// `timeline`: how long each boot stage took, against similar machines.

import type { Answer } from '../contract/wire.ts';
import { type ConnectionOptions, connect } from './connection.ts';
import type { SelectionOptions } from './node-selection.ts';
import { operate } from './operate.ts';
import { readNodes } from './read-nodes.ts';
import { type Output, printable, styled, table } from './terminal.ts';

export async function timeline(names: readonly string[], options: ConnectionOptions & SelectionOptions): Promise<void> {
  const connection = await connect(options);
  await readNodes(connection, names, options, {
    verb: 'timeline',
    read: (node) => operate(connection, 'getNodeTimeline', { params: { node } }),
    print: printTimeline,
  });
}

const BAR_WIDTH = 24;

function printTimeline(
  output: Output,
  { node, work, began, ended, stages, steps, attempts }: Answer<'getNodeTimeline'>,
): void {
  if (began === null || work === null) {
    output.write(`No work was started on ${node} yet.\n`);
    return;
  }
  const end = ended === null ? 'not finished' : `ended ${printable(ended)}`;
  output.write(
    `${styled(output, 'bold', `${node}, ${printable(work)}`)}: began ${printable(began)}, ${end}${attempts > 1 ? `, ${attempts} boot attempts` : ''}\n`,
  );
  const longest = Math.max(1, ...stages.map(({ seconds }) => seconds ?? 0));
  const rows = stages.map(({ stage, seconds, expected, ended: left, overdue }) => [
    stage,
    `${seconds ?? 0} s${left === null ? ' so far' : ''}`,
    expected === null ? '' : `${expected.median_seconds} s`,
    expected === null ? '' : `${expected.p90_seconds} s`,
    `${'█'.repeat(Math.round(((seconds ?? 0) / longest) * BAR_WIDTH))}${overdue ? ' slow' : ''}`,
  ]);
  output.write(table(output, ['STAGE', 'TOOK', 'MEDIAN', 'P90', ''], rows));
  if (steps.length === 0) return;
  output.write('\n');
  const stepRows = steps.map(({ step, began: from, ended: to, ok }) => [
    step,
    to === null ? 'not finished' : `${Math.round((Date.parse(to) - Date.parse(from)) / 100) / 10} s`,
    ok === null ? '' : ok ? 'done' : 'failed',
  ]);
  output.write(table(output, ['STEP', 'TOOK', ''], stepRows));
}
