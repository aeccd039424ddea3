import { type ConnectionOptions, connect } from './connection.ts';
import { operate } from './operate.ts';
import { printable, printJson, standardOutput, styled } from './terminal.ts';

export async function diagnose(node: string, options: ConnectionOptions): Promise<void> {
  const answer = await operate(await connect(options), 'diagnoseNode', { params: { node } });
  const output = standardOutput();
  if (options.json) return printJson(output, answer);
  const { diagnosis, state, waits_for } = answer;
  if (diagnosis === null) {
    return output.write(`Nothing is wrong with ${answer.node} as far as we know: it is ${state}. ${waits_for}\n`);
  }
  output.write(`${styled(output, 'bold', printable(diagnosis.reason))}\n`);
  for (const line of diagnosis.evidence) output.write(`  ${printable(line)}\n`);
  output.write(`→ ${printable(diagnosis.next_step)}\n`);
}
