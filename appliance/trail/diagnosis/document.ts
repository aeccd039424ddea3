// Generates `docs/diagnosis.md` from the causes, the stages and the console signatures.

import type { ConsoleSignature } from '../../domain/console/signature.ts';
import { CONSOLE_SIGNATURES } from '../../domain/console/signatures.ts';
import { CAUSES } from '../diagnose.ts';
import { type Cause, durationText } from './cause.ts';
import { FALLBACK_CAUSES } from './causes/power-causes.ts';
import { STAGES, type Stage } from './stages.ts';

const HEAD = `# Diagnosis

Generated from \`appliance/trail/diagnosis/\` by \`npm run docs\`.

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

const causeRow = ({ id, stages, looksFor, reason, nextStep }: Cause): string =>
  `| \`${id}\` | ${stages === 'any' ? 'any' : stages.join(', ')} | ${cell(reason)} | ${cell(looksFor)} | ${cell(nextStep)} |`;

const signatureRow = ({ id, stage, severity, means, advice, source }: ConsoleSignature): string =>
  `| \`${id}\` | ${stage} | ${severity} | ${cell(means)} | ${cell(advice)} | ${cell(source)} |`;

/** A bar would end the cell, `<name>` would be read as HTML; values of the finding are shown as italic words. */
const cell = (text: string): string =>
  text.replace(/[|<>]/g, (character) => `\\${character}`).replace(/\{([a-z_]+)\}/g, (_, name: string) => `*${name}*`);

export const diagnosisDocument = (): string =>
  [
    HEAD + Object.entries(STAGES).map(stageRow).join('\n'),
    `\n## Causes\n\nWords in italics are filled in.\n\n| cause | stages | reason | evidence | next step |\n|---|---|---|---|---|`,
    ...[...CAUSES.filter(({ id }) => !id.startsWith('screen-')), ...FALLBACK_CAUSES].map(causeRow),
    `\n## Lines on the serial console\n\nThe console is captured while a node is worked on or its first boot is expected ([bmc.md](bmc.md)). A line that matches is the cause \`screen-…\`; lines of\nseverity \`note\` are part of ordinary boots and are only recorded.\n\n| signature | printed by | severity | meaning | next step | source |\n|---|---|---|---|---|---|`,
    ...CONSOLE_SIGNATURES.map(signatureRow),
    '',
  ].join('\n');
