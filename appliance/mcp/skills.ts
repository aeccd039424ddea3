// Skills: answers that are composed from several operations.

import type { Static } from 'typebox';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import { HOUR, type Instant } from '../domain/instant.ts';
import type { Machine } from '../domain/machine.ts';
import type { SkillAnswer, SkillRequest } from './skill-schemas.ts';

type Request = Static<typeof SkillRequest>;
type Skilled = Static<typeof SkillAnswer>;
type Diagnosis = Answer<'diagnoseNode'>;
type Event = Answer<'listEvents'>['events'][number];

export interface SkillDeps {
  readonly now: () => Instant;
  readonly machines: () => Iterable<Machine>;
  readonly diagnosis: (node: string) => Promise<Diagnosis>;
  readonly node: (node: string) => Promise<Answer<'getNode'>>;
  /** The newest, oldest first. */
  readonly events: (query: {
    readonly node?: string;
    readonly kind?: string;
    readonly limit: number;
  }) => Promise<Event[]>;
}

const EVENTS_READ = 500;
const CHANGES_SHOWN = 50;

export async function executeSkill(deps: SkillDeps, { skill, inputs = {} }: Request): Promise<Skilled> {
  if (skill === 'capacity') return { skill, capacity: capacityOf(deps.machines()) };
  const { node, lookback_hours: hours = 24 } = inputs;
  if (node === undefined) throw new ColdironError('invalid_request', `inputs.node: missing, ${skill} is about a node`);
  return skill === 'runbook-generate'
    ? { skill, runbook: await runbookFor(deps, node) }
    : { skill, attribution: await attributionOf(deps, node, deps.now() - hours * HOUR) };
}

async function attributionOf(
  deps: SkillDeps,
  node: string,
  since: Instant,
): Promise<NonNullable<Skilled['attribution']>> {
  const diagnosis = await deps.diagnosis(node);
  const candidates = causesOf(diagnosis).map(({ id, confidence, reason, next_step }) => ({
    ...{ id, confidence, reason, next_step },
  }));
  const { profile, sku, site, interfaces } = await deps.node(node);
  const networks = interfaces.map(({ network }) => network);
  const isAbout = new Set([
    `profile ${profile}`,
    `sku ${sku}`,
    `site ${site}`,
    ...networks.map((name) => `network ${name}`),
  ]);
  const own = (await deps.events({ node, limit: EVENTS_READ })).filter(({ kind }) => OF_NODE.test(kind));
  const shared: Event[] = [];
  for (const kind of ['profile', 'sku', 'site', 'network']) {
    for (const event of await deps.events({ kind, limit: EVENTS_READ })) {
      if (isAbout.has(`${kind} ${(event.data as { readonly name?: string } | null)?.name}`)) shared.push(event);
    }
  }
  const changes = [...own, ...shared]
    .filter(({ at }) => Date.parse(at) >= since)
    .sort((a, b) => b.seq - a.seq)
    .slice(0, CHANGES_SHOWN);
  return { top_candidate: candidates[0] ?? null, candidates, diagnosis, recent_changes: changes };
}

/** Changes that people or files made, and moves of the lifecycle. */
const OF_NODE = /^(?:node|lifecycle|intent|bmc\.power|bmc\.bootdev|hardware|identity)\b/;

const causesOf = ({ diagnosis, alternatives }: Diagnosis) => [...(diagnosis ? [diagnosis] : []), ...alternatives];

async function runbookFor(deps: SkillDeps, node: string): Promise<NonNullable<Skilled['runbook']>> {
  const diagnosis = await deps.diagnosis(node);
  const { hostname, state, next_step, waits_for } = await deps.node(node);
  const causes = causesOf(diagnosis).map(({ next_step: step, reason, verify }) => ({
    do: step,
    because: reason,
    verify,
  }));
  const last = { do: next_step, because: `it is ${state}: ${waits_for}`, verify: `coldiron nodes show ${hostname}` };
  return { node: hostname, state, steps: [...causes, last] };
}

function capacityOf(machines: Iterable<Machine>): NonNullable<Skilled['capacity']> {
  const groups = new Map<string, { site: string | null; sku: string | null; state: string; nodes: number }>();
  const skus = new Map<string | null, { total: number; free: number; in_use: number; failed: number }>();
  for (const machine of machines) {
    const { site, sku } = machine.spec;
    const { state } = machine.lifecycle;
    const key = JSON.stringify([site, sku, state]);
    const group = groups.get(key) ?? { site, sku, state, nodes: 0 };
    groups.set(key, { ...group, nodes: group.nodes + 1 });
    const known = skus.get(sku) ?? { total: 0, free: 0, in_use: 0, failed: 0 };
    skus.set(sku, {
      total: known.total + 1,
      free: known.free + (isFree(machine) ? 1 : 0),
      in_use: known.in_use + (machine.allocation || IN_USE.has(state) ? 1 : 0),
      failed: known.failed + (state === 'failed' || state === 'quarantined' ? 1 : 0),
    });
  }
  const byName = <T extends { readonly sku: string | null }>(a: T, b: T) => (a.sku ?? '').localeCompare(b.sku ?? '');
  return {
    groups: [...groups.values()].sort(byName),
    skus: [...skus].map(([sku, counts]) => ({ sku, ...counts, advice: adviceOn(counts) })).sort(byName),
  };
}

const IN_USE: ReadonlySet<string> = new Set(['active', 'deploying', 'enrolling', 'draining', 'rescue']);

const isFree = ({ lifecycle, allocation, hardware }: Machine): boolean =>
  lifecycle.state === 'ready' && !allocation && hardware.unerased === undefined;

function adviceOn({ total, free, failed }: { total: number; free: number; failed: number }): string {
  const broken = failed === 0 ? '' : `; ${failed} need repair: coldiron diagnose`;
  return free === 0 ? `none of ${total} is free${broken}` : `${free} of ${total} can be deployed now${broken}`;
}
