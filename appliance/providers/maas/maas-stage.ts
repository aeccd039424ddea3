// Where a run stands, from the status in MAAS and from the state of the node here: MAAS knows until the system is deployed, and only the
// node API knows whether it has enrolled.

import { failedTo } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import type { MachineStage } from '../../onboarding/provider.ts';
import { type MaasMachine, STATUS } from './maas-machine.ts';

export interface Stage {
  readonly stage: MachineStage;
  readonly detail: string;
}

const PLAIN: Readonly<Record<number, MachineStage>> = {
  [STATUS.new]: 'new',
  [STATUS.commissioning]: 'commissioning',
  [STATUS.testing]: 'commissioning',
  [STATUS.failedCommissioning]: 'failed',
  [STATUS.failedTesting]: 'failed',
};

/** What a deployment leaves behind, when it is ours. */
const OF_DEPLOYMENT: Readonly<Record<number, MachineStage>> = {
  [STATUS.deploying]: 'deploying',
  // An aborted deployment, or one that could not begin.
  [STATUS.allocated]: 'failed',
  [STATUS.failedDeployment]: 'failed',
  [STATUS.releasingFailed]: 'failed',
  [STATUS.failedDiskErasing]: 'failed',
};

/** `allocatedForUs`: it was allocated for the deployment that this run is about to start. */
export function stageOf(machine: MaasMachine, node: Machine, allocatedForUs: boolean): Stage {
  const { status, statusName, owner, locked, work } = machine;
  const by = owner === null ? '' : `, owned by ${owner}`;
  const words = `${statusName} in MAAS${by}${locked ? ', locked' : ''}`;
  const is = (stage: MachineStage, detail = words): Stage => ({ stage, detail });
  const plain = PLAIN[status];
  if (plain !== undefined) return is(plain);
  if (status === STATUS.ready)
    return owner === null ? is('ready') : is('commissioning', `${words}: MAAS has not released it yet`);
  if (status === STATUS.allocated && allocatedForUs) return is('ready');
  if (work === null) return is('other');
  if (status === STATUS.deployed) return deployedStage(node, words);
  const stage = OF_DEPLOYMENT[status];
  return stage === undefined ? is('other') : is(stage);
}

function deployedStage({ lifecycle }: Machine, words: string): Stage {
  const { state, failure } = lifecycle;
  const detail = `${words}, ${state} here`;
  if (state === 'active') return { stage: 'active', detail };
  if (state === 'enrolling') return { stage: 'enrolling', detail };
  if (failedTo('enroll', lifecycle)) return { stage: 'failed', detail: `${detail} (${failure?.reason})` };
  return { stage: state === 'registered' ? 'failed' : 'other', detail };
}
