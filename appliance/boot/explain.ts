// What a machine would get, and why: the servers' resolver, called for each stage of the boot with the facts that the
// machine sends there.

import { CLIENT_ARCHITECTURES, type ClientArchitecture, type CpuArchitecture } from '../domain/architecture.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { LifecycleState } from '../domain/lifecycle.ts';
import type { Mac } from '../domain/mac.ts';
import type { Machine } from '../domain/machine.ts';
import type { Site } from '../domain/network.ts';
import { plainLine } from '../domain/plain-line.ts';
import type { Because } from './because.ts';
import type { BootServer } from './boot-paths.ts';
import type { ResolvedBoot } from './boot-resolver.ts';
import { type ClientFacts, factsFromQuestion, type QuestionStage } from './client-facts.ts';
import type { Outcome } from './decide-boot.ts';
import { type ExplainedStage, explainStages } from './explain-stages.ts';

export interface ExplainQuestion {
  readonly mac: Mac;
  /** The machine with the assumptions applied; null: not registered. */
  readonly machine: Machine | null;
  /** What the servers would reply to these facts, about that machine. */
  readonly resolve: (facts: ClientFacts) => ResolvedBoot;
  readonly site: Site | null;
  /** null: the network names no address of ours; URLs then omit their server. */
  readonly server: BootServer | null;
  /** null: the architecture that UEFI firmware of the declared instruction set reports. */
  readonly arch: ClientArchitecture | null;
  readonly via?: Ipv4 | null;
  /** Whether the machine is explained in another state than its actual one. */
  readonly supposed: boolean;
  /** The assumptions, for the reader. */
  readonly assumed: readonly string[];
}

export interface Explanation {
  readonly subject: {
    readonly mac: Mac;
    readonly hostname: string | null;
    /** The state it was explained in; null for an unregistered machine. */
    readonly state: LifecycleState | null;
    readonly supposed: boolean;
    readonly network: string | null;
    readonly site: string | null;
    readonly architecture: string;
    readonly via: Ipv4 | null;
  };
  readonly stages: readonly ExplainedStage[];
  readonly outcome: Outcome;
  readonly because: Because;
  readonly notes: readonly string[];
}

export function explainBoot(question: ExplainQuestion): Explanation {
  const { mac, machine, site, server, supposed, resolve } = question;
  const architecture = question.arch ?? usualArchitecture(machine?.spec.architecture ?? 'x86_64');
  const via = question.via ?? null;
  // The query is about the declared machine, so it has that machine's UUID.
  const facts = { mac, architecture, uuid: machine?.spec.uuid ?? null, relay: via };
  const at = (stage: QuestionStage): ResolvedBoot => resolve(factsFromQuestion({ ...facts, stage }));
  const firmware = at('firmware');
  const ipxe = at('ipxe');
  const { nextStage } = firmware.decision;
  // The script decides the outcome; iPXE or GRUB requests it, each with facts of its own.
  const script = nextStage.kind !== 'loader' ? firmware : nextStage.starts === 'grub' ? at('grub') : ipxe;
  const { about, network, profile, decision } = script;
  return {
    subject: {
      mac,
      hostname: about?.spec.hostname ?? null,
      state: about?.lifecycle.state ?? null,
      supposed,
      network: network?.name ?? null,
      site: site?.name ?? null,
      architecture: `${architecture.code} (${architecture.name})`,
      via,
    },
    stages: explainStages({
      mac,
      machine: about,
      architecture,
      profile,
      server,
      atFirmware: firmware.decision,
      atIpxe: ipxe.decision,
      atScript: decision,
    }),
    outcome: decision.outcome,
    because: decision.because,
    notes: [...question.assumed, ...notes(firmware)],
  };
}

function usualArchitecture(cpu: CpuArchitecture): ClientArchitecture {
  for (const known of CLIENT_ARCHITECTURES.values()) {
    if (known.cpu === cpu && known.firmware === 'efi' && known.transport === 'tftp') return known;
  }
  throw new Error(`the architecture table has no UEFI client for ${cpu}`);
}

function notes({ network, decision: { nextStage, outcome } }: ResolvedBoot): string[] {
  const notes: string[] = [];
  if (nextStage.kind === 'nothing' && outcome.kind !== 'silent') {
    notes.push(`It does not reach its outcome: ${nextStage.because.words}.`);
  }
  if (network?.dhcp === 'off' && nextStage.kind !== 'nothing') {
    notes.push(`DHCP is off on ${network.name}: the DHCP server there must offer the boot file.`);
  }
  return notes;
}

const outcomeText = (outcome: Outcome): string => {
  switch (outcome.kind) {
    case 'silent':
      return 'no answer';
    case 'local-disk':
      return 'local disk';
    case 'refusal':
      return 'refusal';
    case 'hold':
      return 'waits for approval';
    case 'service-os':
      return `service OS (${outcome.mode})`;
    case 'installer':
      return `installer of ${outcome.profile}`;
  }
};

const WIDTH = 80;
const LABEL = 12;
const INNER_LABEL = 6;

/** Plain text for a terminal of 80 columns. */
export function renderExplanation({ subject, stages, outcome, because, notes }: Explanation): string {
  const state = subject.state === null ? 'not registered' : `${subject.supposed ? 'as if ' : ''}${subject.state}`;
  const place = subject.network === null ? 'on no declared network' : `on network ${subject.network}`;
  const site = subject.site === null ? '' : `, site ${subject.site}`;
  const via = subject.via === null ? '' : `, through relay ${subject.via}`;
  return [
    ...paragraph('machine', `${subject.hostname ?? 'unnamed'} (${subject.mac}), ${state}`),
    ...paragraph('', `${place}${site}${via}`),
    ...paragraph('', `as client architecture ${subject.architecture}`),
    '',
    ...stages.flatMap((stage, at) => stageLines(stage, stages[at - 1])),
    '',
    ...paragraph('outcome', outcomeText(outcome)),
    ...paragraph('because', because.words),
    ...(because.hint === '' ? [] : paragraph('to do', because.hint)),
    ...notes.flatMap((note) => paragraph('note', note)),
    '',
  ].join('\n');
}

/** A reason equal to that of the stage before is not repeated. */
function stageLines(stage: ExplainedStage, before: ExplainedStage | undefined): string[] {
  const repeated = before?.because.words === stage.because.words;
  if (!stage.reached) return paragraph(stage.stage, repeated ? 'not reached' : stage.answer);
  return [
    ...paragraph(stage.stage, stage.asks, 'asks'),
    ...paragraph('', stage.answer, 'gets'),
    ...(stage.url === undefined ? [] : paragraph('', stage.url, 'url')),
    ...(repeated ? [] : paragraph('', stage.because.words, 'why')),
  ];
}

/** Labels, then text that wraps under itself; a word longer than a line, such as a URL, is not split. */
function paragraph(label: string, text: string, inner = ''): string[] {
  const first = label.padEnd(LABEL) + (inner === '' ? '' : inner.padEnd(INNER_LABEL));
  const lines: string[] = [];
  let line = first;
  for (const word of plainLine(text).split(' ')) {
    if (line.length > first.length && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = ' '.repeat(first.length);
    }
    line += line.length > first.length ? ` ${word}` : word;
  }
  return [...lines, line];
}
