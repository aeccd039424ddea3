// What would this machine get, and why: the decision asked for each stage of the boot, told stage by stage.

import { CLIENT_ARCHITECTURES, type ClientArchitecture, type CpuArchitecture } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import type { Instant } from '../domain/instant.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { LifecycleState } from '../domain/lifecycle.ts';
import type { Mac } from '../domain/mac.ts';
import type { Machine } from '../domain/machine.ts';
import type { Site, SiteNetwork } from '../domain/network.ts';
import type { Because } from './because.ts';
import type { BootServer } from './boot-paths.ts';
import { factsFromQuestion } from './client-facts.ts';
import { type BootDecision, decideBoot, type Outcome } from './decide-boot.ts';
import { type ExplainedStage, explainStages } from './explain-stages.ts';
import type { LoaderWishes } from './loaders.ts';

export interface ExplainQuestion {
  readonly machine: Machine | null;
  readonly mac: Mac;
  readonly network: SiteNetwork | null;
  readonly site: Site | null;
  /** The profile that the machine's intent names, if the catalogue has it. */
  readonly profile: Profile | null;
  /** null: the network names no address of ours; URLs are then told without their server. */
  readonly server: BootServer | null;
  /** null: what UEFI firmware of the declared instruction set says. */
  readonly arch: ClientArchitecture | null;
  readonly via?: Ipv4 | null;
  /** "What if it were in this state": nothing else about the machine changes, least of all its intent. */
  readonly asState?: LifecycleState | null;
  readonly now: Instant;
  /** Which loaders the appliance has; left out: all of them. */
  readonly available?: LoaderWishes['available'];
}

export interface Explanation {
  readonly subject: {
    readonly mac: Mac;
    readonly hostname: string | null;
    /** The state it was judged in; null for a machine nobody knows. */
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
  const { mac, network, site, profile, server, now, available } = question;
  const machine = inState(question.machine, question.asState ?? null, now);
  const architecture = question.arch ?? usualArchitecture(machine?.spec.architecture ?? 'x86_64');
  const via = question.via ?? null;
  const decide = (stage: 'firmware' | 'ipxe'): BootDecision => {
    // The question is about the machine that was declared, so it comes with that machine's UUID.
    const facts = factsFromQuestion({ mac, architecture, uuid: machine?.spec.uuid ?? null, relay: via, stage });
    return decideBoot({ facts, machine, network, profile, now, available });
  };
  const decision = decide('firmware');
  return {
    subject: {
      mac,
      hostname: machine?.spec.hostname ?? null,
      state: machine?.lifecycle.state ?? null,
      supposed: machine !== question.machine,
      network: network?.name ?? null,
      site: site?.name ?? null,
      architecture: `${architecture.code} (${architecture.name})`,
      via,
    },
    stages: explainStages({ mac, machine, architecture, profile, server, decision, atIpxe: decide('ipxe') }),
    outcome: decision.outcome,
    because: decision.because,
    notes: notes(question, decision),
  };
}

const inState = (machine: Machine | null, state: LifecycleState | null, since: Instant): Machine | null =>
  machine === null || state === null || state === machine.lifecycle.state
    ? machine
    : { ...machine, lifecycle: { ...machine.lifecycle, state, since, failure: null, note: null } };

function usualArchitecture(cpu: CpuArchitecture): ClientArchitecture {
  for (const known of CLIENT_ARCHITECTURES.values()) {
    if (known.cpu === cpu && known.firmware === 'efi' && known.transport === 'tftp') return known;
  }
  throw new Error(`the architecture table has no UEFI client for ${cpu}`);
}

function notes({ machine, network, asState }: ExplainQuestion, { nextStage, outcome }: BootDecision): string[] {
  const told: string[] = [];
  if (asState && machine === null) told.push(`Nobody knows this machine, so it cannot be judged as ${asState}.`);
  if (asState && machine !== null && asState !== machine.lifecycle.state) {
    told.push(
      `Judged as if it were ${asState}; it is ${machine.lifecycle.state}. No intent is assumed beyond what is armed.`,
    );
  }
  if (nextStage.kind === 'nothing' && outcome.kind !== 'silent') {
    told.push(`It does not get as far as its outcome: ${nextStage.because.words}.`);
  }
  if (network?.dhcp === 'off' && nextStage.kind !== 'nothing') {
    told.push(`DHCP is off on ${network.name}: whoever serves DHCP there has to hand out the boot file.`);
  }
  return told;
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
  const state = subject.state === null ? 'known to nobody' : `${subject.supposed ? 'as if ' : ''}${subject.state}`;
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

/** A reason that the stage above has just given is not told again. */
function stageLines(stage: ExplainedStage, before: ExplainedStage | undefined): string[] {
  const told = before?.because.words === stage.because.words;
  if (!stage.reached) return paragraph(stage.stage, told ? 'not reached' : stage.answer);
  return [
    ...paragraph(stage.stage, stage.asks, 'asks'),
    ...paragraph('', stage.answer, 'gets'),
    ...(stage.url === undefined ? [] : paragraph('', stage.url, 'url')),
    ...(told ? [] : paragraph('', stage.because.words, 'why')),
  ];
}

/** Labels, then text that wraps under itself; a word too long for a line, such as a URL, stays whole. */
function paragraph(label: string, text: string, inner = ''): string[] {
  const first = label.padEnd(LABEL) + (inner === '' ? '' : inner.padEnd(INNER_LABEL));
  const lines: string[] = [];
  let line = first;
  for (const word of text.split(' ')) {
    if (line.length > first.length && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = ' '.repeat(first.length);
    }
    line += line.length > first.length ? ` ${word}` : word;
  }
  return [...lines, line];
}
