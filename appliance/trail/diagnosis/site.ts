// What is wrong with the site: the diagnoses of its machines, grouped by cause, with what the machines of a group have in common.

import type { Instant } from '../../domain/instant.ts';
import type { Diagnosis } from '../diagnose.ts';
import { CONFIDENCES, type Confidence } from './cause.ts';
import type { RankedCause } from './rank.ts';
import { STAGES } from './stages.ts';

export interface DiagnosedMachine {
  readonly name: string;
  /** What it may share with others: `rack R12`, `network boot`, `switch sw3`, `SKU gpu-8`, `profile debian`. */
  readonly traits: readonly string[];
  readonly since: Instant;
  readonly diagnosis: Diagnosis;
}

export interface SiteProblem {
  readonly id: string;
  readonly summary: string;
  readonly confidence: Confidence;
  readonly nodes: readonly string[];
  readonly common: readonly string[];
  readonly since: Instant;
  readonly nextStep: string;
  readonly verify: string;
}

/** The problem that affects most machines first. */
export function siteProblems(machines: readonly DiagnosedMachine[]): SiteProblem[] {
  const groups = new Map<string, { readonly cause: RankedCause; readonly members: DiagnosedMachine[] }>();
  for (const machine of machines) {
    const [cause] = machine.diagnosis.causes;
    if (cause === undefined) continue;
    const key = `${cause.id} ${machine.diagnosis.stage?.stage ?? ''}`;
    const group = groups.get(key) ?? { cause, members: [] };
    group.members.push(machine);
    groups.set(key, group);
  }
  return [...groups.values()]
    .map(({ cause, members }) => problemOf(cause, members, machines))
    .sort(
      (one, other) =>
        other.nodes.length - one.nodes.length ||
        CONFIDENCES.indexOf(one.confidence) - CONFIDENCES.indexOf(other.confidence) ||
        one.since - other.since,
    );
}

function problemOf(
  cause: RankedCause,
  members: readonly DiagnosedMachine[],
  all: readonly DiagnosedMachine[],
): SiteProblem {
  const common = members.length < 2 ? [] : commonTraits(members, all);
  return {
    id: cause.id,
    summary: members.length < 2 ? cause.reason : summaryOf(cause, members, common),
    confidence: cause.confidence,
    nodes: members.map(({ name }) => name).sort(),
    common,
    since: Math.min(...members.map(({ since }) => since)),
    nextStep: cause.nextStep,
    verify: cause.verify,
  };
}

function summaryOf(cause: RankedCause, members: readonly DiagnosedMachine[], common: readonly string[]): string {
  const stage = members[0]?.diagnosis.stage ?? null;
  const rack = common.find((trait) => trait.startsWith('rack '));
  const others = common.filter((trait) => trait !== rack);
  const where = rack === undefined ? '' : ` in ${rack}`;
  const waits =
    stage === null ? 'have the same problem' : `wait for ${STAGES[stage.stage].until.replace(/^its /, 'their ')}`;
  const shared = others.length === 0 ? '' : `; common to all: ${others.join(', ')}`;
  return `${members.length} machines${where} ${waits}${shared}. For example: ${cause.reason}`;
}

/** What all of them have. A trait that machines without the problem have too says little, and comes last. */
function commonTraits(members: readonly DiagnosedMachine[], all: readonly DiagnosedMachine[]): string[] {
  const names = new Set(members.map(({ name }) => name));
  const others = all.filter(({ name }) => !names.has(name));
  const shared = (members[0]?.traits ?? []).filter((trait) => members.every(({ traits }) => traits.includes(trait)));
  const isElsewhere = (trait: string): boolean => others.some(({ traits }) => traits.includes(trait));
  return [...shared.filter((trait) => !isElsewhere(trait)), ...shared.filter(isElsewhere)];
}
