// The boot decision: what a machine gets when it boots, and why. Every reply to a machine is rendered from it.
// Checks go from the most restrictive to the least; only a valid intent leads to anything that destroys data.

import type { CpuArchitecture } from '../domain/architecture.ts';
import type { Profile } from '../domain/catalogue.ts';
import type { ChassisUuid } from '../domain/chassis.ts';
import { type Instant, instantText } from '../domain/instant.ts';
import type { IntentId, IntentKind } from '../domain/intent.ts';
import type { Machine } from '../domain/machine.ts';
import type { ObjectName } from '../domain/names.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { shown } from '../domain/parsed.ts';
import { STATES } from '../domain/states.ts';
import { type Because, because, becauseOfState, hasOwnReason, type StateDetail } from './because.ts';
import type { BootImage } from './boot-images.ts';
import type { ClientFacts } from './client-facts.ts';
import { honourIntent } from './honour-intent.ts';
import type { LoaderPreferences } from './loaders.ts';
import { type NextStage, nextStage } from './next-stage.ts';
import { EVERYTHING_STARTS, findStart, type Startability, startsOurCode } from './startability.ts';

export type Outcome =
  /** No answer at all. */
  | { readonly kind: 'silent' }
  | { readonly kind: 'local-disk' }
  | { readonly kind: 'service-os'; readonly mode: 'inspect' | 'commission' | 'rescue' }
  | { readonly kind: 'service-os'; readonly mode: 'erase'; readonly intent: IntentId }
  | { readonly kind: 'installer'; readonly profile: ObjectName; readonly intent: IntentId }
  /** Kept at its loader until an operator accepts it; it retries by itself. */
  | { readonly kind: 'hold'; readonly whatToDo: string }
  /** A reply that shows on the machine's screen why it gets nothing, and what to do. */
  | { readonly kind: 'refusal'; readonly whatToDo: string };

/** Something the caller must act on, whatever the machine gets. */
export type Finding =
  /** Not the declared chassis: the caller quarantines the machine. */
  | { readonly kind: 'chassis-mismatch'; readonly expected: ChassisUuid; readonly seen: ChassisUuid }
  | { readonly kind: 'architecture-mismatch'; readonly expected: CpuArchitecture; readonly seen: CpuArchitecture };

export interface BootDecision {
  /** The result of this boot. */
  readonly outcome: Outcome;
  readonly because: Because;
  /** The image that the outcome starts; null: it starts nothing of ours. */
  readonly image: BootImage | null;
  /** What the requesting client gets now, as the next step of this boot. */
  readonly nextStage: NextStage;
  readonly findings: readonly Finding[];
}

export interface BootQuestion {
  readonly facts: ClientFacts;
  readonly machine: Machine | null;
  readonly network: SiteNetwork | null;
  /** The profile of the machine's intent, if the catalogue has it. */
  readonly profile: Profile | null;
  readonly now: Instant;
  /** Which loaders this appliance has; omitted: all of them. */
  readonly available?: LoaderPreferences['available'];
  /** Which images and orders it has; omitted: all of them. */
  readonly startability?: Startability | undefined;
}

interface Verdict {
  readonly outcome: Outcome;
  readonly because: Because;
  readonly image?: BootImage;
}

export function decideBoot(question: BootQuestion): BootDecision {
  const { facts, machine, network } = question;
  const findings = machine === null ? [] : findingsAbout(machine, facts);
  const verdict = network === null ? silent(because('network-unknown')) : onNetwork(question, network, findings);
  const stage: NextStage =
    network === null || verdict.outcome.kind === 'silent'
      ? { kind: 'nothing', because: verdict.because }
      : nextStage(facts, machine, network, question.available);
  return {
    outcome: verdict.outcome,
    because: verdict.because,
    image: verdict.image ?? null,
    nextStage: stage,
    findings,
  };
}

function findingsAbout(machine: Machine, facts: ClientFacts): Finding[] {
  const { uuid, architecture } = machine.spec;
  const findings: Finding[] = [];
  if (uuid !== null && facts.uuid !== null && uuid !== facts.uuid) {
    findings.push({ kind: 'chassis-mismatch', expected: uuid, seen: facts.uuid });
  }
  if (facts.cpu !== null && facts.cpu !== architecture) {
    findings.push({ kind: 'architecture-mismatch', expected: architecture, seen: facts.cpu });
  }
  return findings;
}

function onNetwork(question: BootQuestion, network: SiteNetwork, findings: readonly Finding[]): Verdict {
  const { server } = network;
  if (server === null) return silent(because('network-without-server', { network: network.name }));
  const verdict = byMachine(question, network, findings);
  const { outcome } = verdict;
  if (!startsOurCode(outcome)) return verdict;
  const { facts, machine, profile, startability = EVERYTHING_STARTS } = question;
  const start = findStart({ outcome, facts, machine, profile, server }, startability);
  return start.ok ? { ...verdict, image: start.image } : refusal(start.because);
}

function byMachine(question: BootQuestion, network: SiteNetwork, findings: readonly Finding[]): Verdict {
  const { facts, machine } = question;
  if (machine === null) return unaccepted(network, facts.mac ?? 'MAC');
  const node = machine.spec.hostname;

  // Whichever chassis its card is in now: a removed machine needs no further checks.
  if (machine.lifecycle.state === 'removed') return byState(question, machine, network);
  const otherChassis = findings.find((finding) => finding.kind === 'chassis-mismatch');
  if (otherChassis) {
    return refusal(because('chassis-mismatch', { node, expected: otherChassis.expected, seen: otherChassis.seen }));
  }

  const verdict = byState(question, machine, network);
  const otherCpu = findings.find((finding) => finding.kind === 'architecture-mismatch');
  if (otherCpu && startsOurCode(verdict.outcome)) {
    return refusal(because('architecture-mismatch', { node, expected: otherCpu.expected, seen: otherCpu.seen }));
  }
  return verdict;
}

function byState(question: BootQuestion, machine: Machine, network: SiteNetwork): Verdict {
  const { state } = machine.lifecycle;
  if (!hasOwnReason(state)) {
    const { boots } = STATES[state];
    return boots.into === 'network-policy'
      ? unaccepted(network, machine.spec.hostname)
      : ARMED_WORK[boots.intent](question, machine);
  }
  const { boots } = STATES[state];
  const reason = becauseOfState(state, (name) => stateDetail(machine, name));
  switch (boots.into) {
    case 'refusal':
      return refusal(reason);
    case 'local-disk':
      return localDisk(reason);
    case 'service-os':
      return { outcome: { kind: 'service-os', mode: boots.mode }, because: reason };
  }
}

const NO_REASON = 'no reason was recorded';

function stateDetail({ spec, lifecycle: { since, note, failure } }: Machine, name: StateDetail): string {
  switch (name) {
    case 'node':
      return spec.hostname;
    case 'at':
      return instantText(since);
    case 'note':
      return shown(note ?? NO_REASON);
    case 'why':
      return note === null ? '' : ` (${shown(note)})`;
    case 'failure':
      return failure === null ? NO_REASON : `${failure.step}: ${shown(failure.reason)}`;
  }
}

function unaccepted(network: SiteNetwork, machine: string): Verdict {
  const details = { network: network.name, machine };
  switch (network.unknown) {
    case 'ignore':
      return silent(because('unaccepted-ignored', details));
    case 'refuse':
      return refusal(because('unaccepted-refused', details));
    case 'hold': {
      const reason = because('unaccepted-held', details);
      return { outcome: { kind: 'hold', whatToDo: reason.hint }, because: reason };
    }
    case 'local-disk':
      return localDisk(because('unaccepted-local-disk', details));
    case 'inspect':
      return { outcome: { kind: 'service-os', mode: 'inspect' }, because: because('unaccepted-inspected', details) };
  }
}

function deploy({ facts, profile, now }: BootQuestion, machine: Machine): Verdict {
  const honoured = honourIntent(machine, 'deploy', facts, now);
  if (!honoured.valid) return localDisk(honoured.because);
  const { intent } = honoured;
  const node = machine.spec.hostname;
  if (intent.profile === null || profile === null || profile.name !== intent.profile) {
    return refusal(because('profile-unknown', { node, profile: intent.profile ?? '(none)' }));
  }
  if (!profile.active) return refusal(because('profile-inactive', { node, profile: profile.name }));
  const { architecture } = machine.spec;
  if (!profile.architectures.includes(architecture)) {
    const made = profile.architectures.join(', ') || 'no architecture';
    return refusal(because('profile-architecture-mismatch', { node, profile: profile.name, made, architecture }));
  }
  return {
    outcome: { kind: 'installer', profile: profile.name, intent: intent.id },
    because: because('deploy-armed', { node, profile: profile.name, actor: shown(intent.actor) }),
  };
}

function erase({ facts, now }: BootQuestion, machine: Machine): Verdict {
  const honoured = honourIntent(machine, 'erase', facts, now);
  if (!honoured.valid) return localDisk(honoured.because);
  return {
    outcome: { kind: 'service-os', mode: 'erase', intent: honoured.intent.id },
    because: because('erase-armed', { node: machine.spec.hostname, actor: shown(honoured.intent.actor) }),
  };
}

const ARMED_WORK: Readonly<Record<IntentKind, (question: BootQuestion, machine: Machine) => Verdict>> = {
  deploy,
  erase,
};

const silent = (reason: Because): Verdict => ({ outcome: { kind: 'silent' }, because: reason });
const localDisk = (reason: Because): Verdict => ({ outcome: { kind: 'local-disk' }, because: reason });
const refusal = (reason: Because): Verdict => ({
  outcome: { kind: 'refusal', whatToDo: reason.hint },
  because: reason,
});
