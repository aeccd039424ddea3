// Finds out why a machine is stuck or has failed: every cause is assessed over all evidence, and the findings are ranked. Pure: the
// caller gathers the facts.

import type { Cause } from './diagnosis/cause.ts';
import { durationText, owned } from './diagnosis/cause.ts';
import { ADDRESS_CAUSES } from './diagnosis/causes/address-causes.ts';
import { AGENT_CAUSES } from './diagnosis/causes/agent-causes.ts';
import { APPLIANCE_CAUSES } from './diagnosis/causes/appliance-causes.ts';
import { LOADER_CAUSES } from './diagnosis/causes/loader-causes.ts';
import { NEIGHBOUR_CAUSES } from './diagnosis/causes/neighbour-causes.ts';
import { NODE_CAUSES } from './diagnosis/causes/node-causes.ts';
import { NODE_SYSTEM_CAUSES } from './diagnosis/causes/node-system-causes.ts';
import { FALLBACK_CAUSES, POWER_CAUSES } from './diagnosis/causes/power-causes.ts';
import { SCREEN_CAUSES, SCREEN_CONSEQUENCES } from './diagnosis/causes/screen-causes.ts';
import { SESSION_CAUSES } from './diagnosis/causes/session-causes.ts';
import { STATE_CAUSES } from './diagnosis/causes/state-causes.ts';
import { SYSTEM_CAUSES } from './diagnosis/causes/system-causes.ts';
import type { DiagnosisInput } from './diagnosis/facts.ts';
import { type RankedCause, rankedCauses } from './diagnosis/rank.ts';
import { type CurrentStage, type Signs, signsOf } from './diagnosis/signs.ts';
import { STAGES } from './diagnosis/stages.ts';

/** In the order of a boot, the last stage first: what decides between causes that are equal otherwise. */
export const CAUSES: readonly Cause[] = [
  ...owned('operator', STATE_CAUSES),
  ...owned('appliance', APPLIANCE_CAUSES),
  ...owned('machine', SCREEN_CAUSES),
  ...owned('machine', SESSION_CAUSES),
  ...owned('machine', SYSTEM_CAUSES),
  ...owned('machine', LOADER_CAUSES),
  ...owned('network', ADDRESS_CAUSES),
  ...owned('node', AGENT_CAUSES),
  ...owned('node', NODE_CAUSES),
  ...owned('node', NODE_SYSTEM_CAUSES),
  ...owned('operator', NEIGHBOUR_CAUSES),
  ...owned('machine', POWER_CAUSES),
  ...owned('machine', SCREEN_CONSEQUENCES),
];

export interface Diagnosis {
  /** The most likely cause first. Empty: nothing is wrong, as far as is known, and nothing is overdue. */
  readonly causes: readonly RankedCause[];
  /** The stage that the machine is in, or in which its work failed; null: no work is in progress. */
  readonly stage: CurrentStage | null;
  /** Where it stands, in one sentence; null: no work is in progress. */
  readonly symptom: string | null;
}

export function diagnose(input: DiagnosisInput): Diagnosis {
  const signs = signsOf(input);
  const found = rankedCauses(CAUSES, signs);
  const causes = found.length > 0 ? found : rankedCauses(FALLBACK_CAUSES, signs);
  return { causes, stage: signs.current, symptom: symptomOf(signs) };
}

function symptomOf({ hostname, lifecycle, current, now }: Signs): string | null {
  if (current === null) return null;
  const { stage, began, expected, overdue, allowed } = current;
  const waits = `${hostname} ${lifecycle.state === 'failed' ? 'waited' : 'waits'} for ${STAGES[stage].until}`;
  const until = lifecycle.state === 'failed' ? lifecycle.since : now;
  const usual =
    expected === null
      ? `at most ${durationText(allowed)} are expected`
      : `similar machines take ${durationText(expected.median)}, nine of ten at most ${durationText(expected.p90)}`;
  return `${waits}, ${lifecycle.state === 'failed' ? 'for' : 'since'} ${durationText(Math.max(0, until - began))}${overdue ? '' : ', which is in time'}: ${usual}`;
}
