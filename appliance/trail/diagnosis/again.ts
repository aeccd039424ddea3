// The commands that start the work of a machine again: part of the next step. They work as typed in the state that the machine is in.

import { type FailedStep, type LifecycleState, runsSession } from '../../domain/lifecycle.ts';
import type { Signs } from './signs.ts';
import { isBefore } from './stages.ts';

const REPEATS: Readonly<Record<FailedStep, string>> = {
  commission: 'commission',
  deploy: 'deploy',
  enroll: 'token reissue',
  drain: 'drain',
  release: 'release',
};

/** Work in progress is not started a second time: it is ended first. */
const IN_PROGRESS: Readonly<Partial<Record<LifecycleState, readonly [end: string, begin: string]>>> = {
  commissioning: ['cancel', 'commission'],
  deploying: ['cancel', 'deploy'],
  releasing: ['cancel', 'release'],
  rescue: ['end-rescue', 'rescue'],
};

/** A machine that is to run its installed system is only switched on. */
const SWITCHED_ON = 'coldiron power {node} on';

/** `{again}` of the templates. */
export function again(signs: Signs): string {
  const { failure, state } = signs.lifecycle;
  if (failure) return command(REPEATS[failure.step], signs);
  const [end, begin] = IN_PROGRESS[state] ?? [];
  if (end === undefined || begin === undefined) return SWITCHED_ON;
  return `${command(end, signs)}, then ${command(begin, signs)}`;
}

/** `{install}` of the templates: with the profile of the deployment, which may differ from the declared one. */
export const installAgain = (signs: Signs): string => command('deploy', signs);

function command(verb: string, { seen }: Signs): string {
  const armed = seen.findLast((one) => one.kind === 'intent.armed');
  const profile = armed?.kind === 'intent.armed' ? armed.data.profile : null;
  return `coldiron ${verb} {node}${verb === 'deploy' && profile !== null ? ` --profile ${profile}` : ''}`;
}

/**
 * Firmware and boot loaders give up, and a kernel that did not start stays so. From then on the service OS repeats its requests. A machine whose
 * work failed is started again in any case.
 */
export function needsStart(signs: Signs, goesOn: boolean): boolean {
  const { lifecycle, current } = signs;
  if (current === null || goesOn) return false;
  // After a failed enrollment the system on the disk may still enroll by itself.
  if (lifecycle.failure) return ['commission', 'deploy', 'release'].includes(lifecycle.failure.step);
  return runsSession(lifecycle.state) && isBefore(current.stage, 'work');
}
