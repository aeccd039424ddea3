import { type ConnectionOptions, connect } from './connection.ts';
import { printable, printJson, standardOutput, styled } from './terminal.ts';

interface DiagnosisAnswer {
  readonly node: string;
  readonly state: string;
  readonly waits_for: string;
  readonly diagnosis: {
    readonly id: string;
    readonly reason: string;
    readonly next_step: string;
    readonly evidence: readonly string[];
  } | null;
}

export async function diagnose(node: string, options: ConnectionOptions): Promise<void> {
  const path = `/api/v1/nodes/${encodeURIComponent(node)}/diagnosis`;
  const answer = await (await connect(options)).get<DiagnosisAnswer>(path);
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
