// Generates `docs/diagnosis.md` from the causes, the stages, the console signatures and the results of the fault tests.

import type { ConsoleSignature } from '../../domain/console/signature.ts';
import { CONSOLE_SIGNATURES } from '../../domain/console/signatures.ts';
import { CAUSES } from '../diagnose.ts';
import { type Cause, durationText } from './cause.ts';
import { AGENT_CAUSES } from './causes/agent-causes.ts';
import { NODE_CAUSES } from './causes/node-causes.ts';
import { NODE_SYSTEM_CAUSES } from './causes/node-system-causes.ts';
import { FALLBACK_CAUSES } from './causes/power-causes.ts';
import { STAGES, type Stage } from './stages.ts';

/** A fault that was injected into a real run, and what came of it. */
export interface DocumentedFault {
  readonly id: string;
  readonly area: string;
  readonly what: string;
  /** The causes that are right answers. */
  readonly causes: readonly string[];
  /** The first answer, as text. */
  readonly answer: string;
  readonly right: string;
  /** Whether the machine went on after the next step. */
  readonly recovered: string;
  readonly seconds: string;
}

export interface DocumentedFaults {
  readonly faults: readonly DocumentedFault[];
  /** Why no fault leads to a cause, by its id. */
  readonly notInjected: Readonly<Record<string, string>>;
}

const HEAD = `# Diagnosis

Generated from \`appliance/trail/diagnosis/\` and \`test/faults/\` by \`npm run docs\`.

\`coldiron diagnose NODE\` weighs all evidence about a node: what it requested and got (DHCP, TFTP, HTTP), what its service OS and agent
report, what it prints on its serial console, what its BMC says now, what the appliance knows about its own files, disk, store,
listeners and clock, and what happens to its neighbours. It is one pure function over these facts, so a recording of them
(\`coldiron record NODE FILE\`) gives the same answer anywhere (\`coldiron replay FILE\`).

Every cause below is assessed. The answer is ranked: a cause that explains the stage in which the node stopped comes before one that does
not; then the confidence decides (\`certain\`: the evidence states the cause itself; \`likely\`; \`possible\`), then evidence against it, then how
specific it is. The others are shown as alternatives. "No problem found" means that no cause has evidence and nothing is overdue.

\`coldiron diagnose\` without a node groups all nodes that are stuck, failed or silent by cause, most affected first, and names what the
nodes of a group have in common. \`--watch\` asks again every few seconds. \`coldiron timeline NODE\` shows the time of each stage.

## Stages

A stage is overdue when it takes longer than 1.5 times the 90th percentile of completed runs of the same SKU (of all machines, while there are
fewer than three), but never before the shortest limit. Without three runs the default limit applies. The clock of a stage starts with its first
packet: repeated packets and repeated boots that stop in the same stage do not start it again. During the work of the service OS, reports
that repeat the same progress for three minutes count as a stall.

| stage | waits for | default limit | shortest limit |
|---|---|---|---|
`;

const stageRow = ([stage, { until, allowed, atLeast }]: readonly [string, (typeof STAGES)[Stage]]): string =>
  `| ${stage} | ${until} | ${durationText(allowed)} | ${durationText(atLeast)} |`;

const causeRow =
  (tested: DocumentedFaults) =>
  ({ id, owner = 'operator', stages, looksFor, reason, nextStep }: Cause): string =>
    row(
      `\`${id}\``,
      stages === 'any' ? 'any' : stages.join(', '),
      owner,
      ...[cell(reason), cell(looksFor), cell(nextStep), testsOf(id, tested)],
    );

const signatureRow =
  (tested: DocumentedFaults) =>
  ({ id, stage, severity, means, advice, source }: ConsoleSignature): string =>
    row(`\`${id}\``, stage, severity, cell(means), cell(advice), cell(source), testsOf(`screen-${id}`, tested));

const faultRow = ({ id, area, what, answer, right, recovered, seconds }: DocumentedFault): string =>
  row(`\`${id}\``, area, cell(what), answer, right, cell(recovered), seconds);

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const head = (...cells: readonly string[]): string => `${row(...cells)}\n|${'---|'.repeat(cells.length)}`;

/** The faults to which the cause is a right answer. */
function testsOf(cause: string, { faults, notInjected }: DocumentedFaults): string {
  const ids = faults.filter(({ causes }) => causes.includes(cause)).map(({ id }) => `\`${id}\``);
  const why = notInjected[cause];
  return ids.length > 0 ? ids.join(', ') : why === undefined ? '' : `none: ${cell(why)}`;
}

/** A bar would end the cell, `<name>` would be read as HTML; values of the finding are shown as italic words. */
const cell = (text: string): string =>
  text.replace(/[|<>]/g, (character) => `\\${character}`).replace(/\{([a-z_]+)\}/g, (_, name: string) => `*${name}*`);

const SYMPTOMS_BEGIN = '<!-- symptoms -->';
const SYMPTOMS_END = '<!-- /symptoms -->';

/** A runbook with its table of symptoms written again: the causes on the side of an enrolled node. */
export function withSymptoms(runbook: string): string {
  const ids = new Set([...AGENT_CAUSES, ...NODE_CAUSES, ...NODE_SYSTEM_CAUSES].map(({ id }) => id));
  const rows = CAUSES.filter(({ id }) => ids.has(id)).map(
    ({ id, owner = 'operator', looksFor, reason, nextStep, verify }) =>
      row(cell(reason), owner, cell(looksFor), cell(nextStep), cell(verify ?? ''), `\`${id}\``),
  );
  const table = [head('symptom', 'owner', 'check', 'remedy', 'verify', 'cause'), ...rows].join('\n');
  const [before, rest] = runbook.split(SYMPTOMS_BEGIN);
  const after = rest?.split(SYMPTOMS_END)[1];
  if (before === undefined || after === undefined)
    throw new Error(`the runbook has no ${SYMPTOMS_BEGIN} … ${SYMPTOMS_END}`);
  return `${before}${SYMPTOMS_BEGIN}\n${table}\n${SYMPTOMS_END}${after}`;
}

const CONSOLE_HEAD = `
## Lines on the serial console

The console is captured while a node is worked on or its first boot is expected ([bmc.md](bmc.md)). A line that matches is the cause \`screen-…\`; lines of
severity \`note\` are part of ordinary boots and are only recorded.
`;

const FAULTS_HEAD = `
## Faults

Each fault is injected into a real run of an emulated machine by \`npm run bench -- faults\`; the evidence of that run is kept in
\`test/faults/recordings/\` and replayed by the tests. The first answer is the one to that evidence, by the causes above. The seconds are those from the
stall to the right answer. After the next step the machine goes on, or there is nothing to recover.
`;

export const diagnosisDocument = (tested: DocumentedFaults): string =>
  [
    HEAD + Object.entries(STAGES).map(stageRow).join('\n'),
    `\n## Causes\n\nWords in italics are filled in. The last column names the [faults](#faults) that the cause explains.\n`,
    head('cause', 'stages', 'owner', 'reason', 'evidence', 'next step', 'fault tests'),
    ...[...CAUSES.filter(({ id }) => !id.startsWith('screen-')), ...FALLBACK_CAUSES].map(causeRow(tested)),
    CONSOLE_HEAD,
    head('signature', 'printed by', 'severity', 'meaning', 'next step', 'source', 'fault tests'),
    ...CONSOLE_SIGNATURES.map(signatureRow(tested)),
    FAULTS_HEAD,
    head('fault', 'area', 'what is wrong', 'first answer', 'right', 'after the next step', 'seconds'),
    ...tested.faults.map(faultRow),
    '',
  ].join('\n');
