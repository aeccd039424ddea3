import { describe, expect, it } from 'vitest';
import { type Lifecycle, type LifecycleState, lifeIn } from '../../appliance/domain/lifecycle.ts';
import { step } from '../../appliance/machines/step.ts';
import type { LifecycleEvent } from '../../appliance/machines/transitions.ts';
import { diagnose } from '../../appliance/trail/diagnose.ts';
import { again, installAgain } from '../../appliance/trail/diagnosis/again.ts';
import { signsOf } from '../../appliance/trail/diagnosis/signs.ts';
import { eventsOf, failedAt, inputOf, type Observed, sessionWith, T0 } from './observed.ts';

const IN_PROGRESS = ['commissioning', 'deploying', 'releasing', 'rescue'] as const;
const BEFORE: Readonly<Record<(typeof IN_PROGRESS)[number], LifecycleState>> = {
  ...{ commissioning: 'registered', deploying: 'ready', releasing: 'active', rescue: 'active' },
};
const EVENT_OF: Readonly<Record<string, LifecycleEvent>> = { 'end-rescue': 'rescue-ended' };

const signsIn = (lifecycle: Lifecycle, observed: readonly Observed[] = []) =>
  signsOf(inputOf(eventsOf(observed), { state: lifecycle }));

/** The lifecycle after each command, as the transition table has it. */
function afterCommands(lifecycle: Lifecycle, text: string): Lifecycle {
  const verbs = [...text.matchAll(/coldiron ([a-z-]+) \{node\}/g)].map(([, verb = '']) => verb);
  expect(verbs.length).toBeGreaterThan(0);
  let now = lifecycle;
  for (const verb of verbs) {
    const event = EVENT_OF[verb] ?? (verb as LifecycleEvent);
    const result = step(now, event, { now: T0, profileDeployMinutes: null });
    if (!result.moved) throw new Error(`${verb}: ${result.reason}`);
    now = result.lifecycle;
  }
  return now;
}

describe('the commands that start a machine again', () => {
  it.each(IN_PROGRESS)('are accepted while it is %s, and begin the same work', (state) => {
    const lifecycle = { ...lifeIn(state, T0), resume: BEFORE[state] };
    expect(afterCommands(lifecycle, again(signsIn(lifecycle))).state).toBe(state);
  });

  it.each([
    ['commission', 'commissioning'],
    ['deploy', 'deploying'],
    ['release', 'releasing'],
  ] as const)('are accepted after a failed %s', (failed, state) => {
    const lifecycle = failedAt(failed);
    expect(afterCommands(lifecycle, again(signsIn(lifecycle))).state).toBe(state);
  });

  it('name the profile of the deployment, and install again while it is enrolling', () => {
    const armed: Observed = [1, 'intent.armed', { kind: 'deploy', profile: 'tiny' }];
    const signs = signsIn(lifeIn('enrolling', T0), [[0, 'lifecycle.deploying'], armed]);
    expect(installAgain(signs)).toBe('coldiron deploy {node} --profile tiny');
    expect(afterCommands(lifeIn('enrolling', T0), installAgain(signs)).state).toBe('deploying');
    expect(again(signs)).toBe('coldiron power {node} on');
  });
});

describe('a next step', () => {
  const nextStep = (observed: readonly Observed[], subject: Parameters<typeof inputOf>[1]): string =>
    diagnose(inputOf(eventsOf(observed), subject)).causes[0]?.nextStep ?? '';

  it('starts a machine again whose firmware gave up', () => {
    expect(nextStep([[0, 'lifecycle.commissioning']], { state: 'commissioning' })).toMatch(
      /Then start it again, unless it goes on by itself: coldiron cancel node01, then coldiron commission node01$/,
    );
    expect(nextStep([[0, 'lifecycle.commissioning']], { state: failedAt('commission') })).toMatch(
      /itself: coldiron commission node01$/,
    );
  });

  it('starts nothing where the service OS goes on by itself, or a person starts the machine', () => {
    const session = sessionWith({ openedAt: T0 + 60_000, heardAt: T0 + 70_000 });
    expect(nextStep([[0, 'lifecycle.deploying']], { session })).not.toContain('start it again');
    const byHand: Observed = [1, 'bmc.absent', { to_do: 'power cycle the machine by hand' }];
    expect(nextStep([[0, 'lifecycle.commissioning'], byHand], { state: 'commissioning', minutes: 1 })).toBe(
      'Power cycle the machine by hand.',
    );
  });

  it('does not issue a new token where the installed system may still enroll', () => {
    const failure: Observed = [240, 'node-api.handshake-failed', { reason: 'client-bad-certificate' }];
    const observed: readonly Observed[] = [
      [0, 'lifecycle.deploying'],
      [200, 'lifecycle.enrolling', { event: 'installed' }],
      failure,
    ];
    expect(nextStep(observed, { state: failedAt('enroll') })).not.toContain('token reissue');
  });
});
