import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EffectKind } from '../../appliance/domain/effect.ts';
import { HOUR, MINUTE } from '../../appliance/domain/instant.ts';
import { type FailedStep, LIFECYCLE_STATES, type Lifecycle } from '../../appliance/domain/lifecycle.ts';
import { STATES } from '../../appliance/domain/states.ts';
import { effectStillApplies, possibleEvents, type StepContext, step } from '../../appliance/machines/step.ts';
import { EVENTS, type LifecycleEvent } from '../../appliance/machines/transitions.ts';
import { aLife, T0 } from './machines.ts';

const NOW = T0 + 5 * MINUTE;
const ALL_EVENTS = Object.keys(EVENTS) as LifecycleEvent[];
const failedAt = (failedStep: FailedStep) => aLife('failed', { failure: { step: failedStep, reason: 'smoke' } });

function moved(life: Lifecycle, event: LifecycleEvent, context: Partial<StepContext> = {}) {
  const result = step(life, event, { now: NOW, profileDeployMinutes: null, ...context });
  if (!result.moved) throw new Error(result.reason);
  return result;
}

function refused(life: Lifecycle, event: LifecycleEvent): string {
  const result = step(life, event, { now: NOW, profileDeployMinutes: null });
  if (result.moved) throw new Error(`${event} moved it to ${result.lifecycle.state}`);
  return result.reason;
}

type Sentence = [
  sentence: string,
  from: Lifecycle,
  event: LifecycleEvent,
  to: Partial<Lifecycle>,
  effects: EffectKind[],
];

const SENTENCES: Sentence[] = [
  ['a discovered machine is accepted', aLife('discovered'), 'accept', { state: 'registered', deadline: null }, []],
  [
    'commissioning begins with a network boot and has 20 minutes',
    aLife('registered'),
    'commission',
    { state: 'commissioning', since: NOW, deadline: NOW + 20 * MINUTE },
    ['boot-from-network'],
  ],
  [
    'a commissioned machine is ready and off',
    aLife('commissioning'),
    'commissioned',
    { state: 'ready' },
    ['power-off'],
  ],
  [
    'an installed machine enrolls within 15 minutes and is disarmed',
    aLife('deploying'),
    'installed',
    { state: 'enrolling', deadline: NOW + 15 * MINUTE },
    [],
  ],
  ['an enrolled machine is active', aLife('enrolling'), 'enrolled', { state: 'active', deadline: null }, []],
  [
    'a running host enrolls without an installation',
    aLife('registered'),
    'enroll',
    { state: 'enrolling', deadline: NOW + 15 * MINUTE },
    [],
  ],
  [
    'a drained machine retires and remembers that it was active',
    aLife('draining'),
    'drained',
    { state: 'retired', resume: 'active' },
    [],
  ],
  ['draining can be undone', aLife('draining'), 'undrain', { state: 'active' }, []],
  [
    'an active machine is released: its disks are erased within an hour, and a cancel leads back',
    aLife('active'),
    'release',
    { state: 'releasing', resume: 'active', deadline: NOW + HOUR, fallbackUsed: false },
    ['boot-from-network'],
  ],
  [
    'the first failed erasure tries the fallback, keeps the reason and gets new time',
    aLife('releasing', { deadline: NOW + MINUTE }),
    'erase-failed',
    { state: 'releasing', since: T0, deadline: NOW + HOUR, fallbackUsed: true, note: 'because', failure: null },
    ['release-without-erase'],
  ],
  [
    'the second failed erasure fails the release',
    aLife('releasing', { fallbackUsed: true }),
    'erase-failed',
    { state: 'failed', failure: { step: 'release', reason: 'because' }, fallbackUsed: false },
    [],
  ],
  [
    'a machine that is released unerased is ready, with a note',
    aLife('releasing', { fallbackUsed: true }),
    'released-unerased',
    { state: 'ready', note: 'a note', fallbackUsed: false },
    ['power-off'],
  ],
  [
    'rescue lasts four hours at most',
    aLife('active'),
    'rescue',
    { state: 'rescue', resume: 'active', deadline: NOW + 4 * HOUR },
    ['boot-from-network'],
  ],
  [
    'rescue ends at its deadline in the earlier state',
    aLife('rescue', { resume: 'active' }),
    'deadline',
    { state: 'active', resume: null, deadline: null, failure: null },
    ['boot-from-disk'],
  ],
  [
    'a retired machine returns to its earlier state',
    aLife('retired', { resume: 'ready' }),
    'reactivate',
    { state: 'ready', resume: null },
    [],
  ],
  ['one without a remembered state becomes registered', aLife('retired'), 'reactivate', { state: 'registered' }, []],
  [
    'a retired machine is removed',
    aLife('retired', { resume: 'active' }),
    'remove',
    { state: 'removed', resume: null },
    [],
  ],
  [
    'quarantine during a deployment interrupts it',
    aLife('deploying'),
    'quarantine',
    { state: 'quarantined', resume: 'failed', failure: { step: 'deploy', reason: 'because' }, note: 'a note' },
    [],
  ],
  [
    'quarantine during rescue remembers the state before the rescue',
    aLife('rescue', { resume: 'ready', deadline: NOW }),
    'quarantine',
    { state: 'quarantined', resume: 'ready', deadline: null },
    [],
  ],
  [
    'a failed enrollment is retried without installing',
    failedAt('enroll'),
    'enroll',
    { state: 'enrolling', failure: null },
    [],
  ],
  [
    'a node that could not be drained stays active',
    failedAt('drain'),
    'undrain',
    { state: 'active', failure: null },
    [],
  ],
];

describe('step', () => {
  it.each(SENTENCES)('%s', (_, from, event, to, effects) => {
    const result = moved(from, event, { note: to.note === 'a note' ? 'a note' : undefined, failureReason: 'because' });
    expect(result.lifecycle).toMatchObject(to);
    expect(result.effects).toEqual(effects);
  });

  it.each([
    ['the time limit of its profile', 25, 25],
    ['an hour without a profile', null, 60],
  ])('gives a deployment %s', (_, profileDeployMinutes, minutes) => {
    expect(moved(aLife('ready'), 'deploy', { profileDeployMinutes }).lifecycle.deadline).toBe(NOW + minutes * MINUTE);
  });

  it.each([
    ['commissioning', 'commission'],
    ['deploying', 'deploy'],
    ['enrolling', 'enroll'],
    ['draining', 'drain'],
  ] as const)('turns %s past its deadline into a failed %s, with what it waited for', (state, failedStep) => {
    const { failure } = moved(aLife(state), 'deadline', { now: T0 + 20 * MINUTE }).lifecycle;
    expect(failure).toEqual({
      step: failedStep,
      reason: `${state} for 20 min, past its deadline. ${STATES[state].waitsFor}`,
    });
  });

  it('returns to the earlier state when it is cancelled before anything was written', () => {
    const cancelled = (from: Lifecycle, ...events: readonly LifecycleEvent[]) =>
      events.reduce((life, event) => moved(life, event).lifecycle, from);
    const back = (from: Lifecycle, work: LifecycleEvent) =>
      moved(moved(from, work).lifecycle, 'cancel', { failureReason: 'cancelled by ada' });
    expect(back(aLife('registered'), 'commission').lifecycle).toMatchObject({ state: 'registered', failure: null });
    expect(back(aLife('ready'), 'commission').lifecycle).toMatchObject({ state: 'ready', failure: null });
    expect(back(aLife('ready'), 'deploy')).toMatchObject({
      lifecycle: { state: 'ready', failure: null, deadline: null },
      effects: ['power-off'],
    });
    const failure = { step: 'deploy', reason: 'cancelled by ada' };
    expect(back(failedAt('enroll'), 'deploy').lifecycle).toMatchObject({ state: 'failed', failure });
    expect(cancelled(aLife('ready'), 'deploy', 'break-off')).toMatchObject({
      state: 'failed',
      failure: { step: 'deploy' },
    });
    expect(cancelled(aLife('releasing'), 'break-off')).toMatchObject({ state: 'failed', failure: { step: 'release' } });
  });

  it('keeps the failure while a failed machine is interrupted, and clears it when the machine moves on', () => {
    const { failure } = failedAt('deploy');
    const retired = moved(failedAt('deploy'), 'retire').lifecycle;
    expect(moved(retired, 'reactivate').lifecycle).toMatchObject({ state: 'failed', failure });
    const rescued = moved(failedAt('deploy'), 'rescue').lifecycle;
    expect(moved(rescued, 'rescue-ended').lifecycle).toMatchObject({ state: 'failed', failure });
    const quarantined = moved(rescued, 'quarantine').lifecycle;
    expect(moved(quarantined, 'clear-quarantine').lifecycle).toMatchObject({ state: 'failed', failure });
    expect(moved(failedAt('deploy'), 'deploy').lifecycle.failure).toBeNull();
  });

  it('keeps the note of a quarantine through retirement', () => {
    const quarantined = moved(aLife('active'), 'quarantine', { note: 'another chassis' }).lifecycle;
    const retired = moved(quarantined, 'retire').lifecycle;
    expect(moved(retired, 'reactivate').lifecycle).toMatchObject({ state: 'quarantined', note: 'another chassis' });
    expect(moved(quarantined, 'clear-quarantine').lifecycle).toMatchObject({ state: 'active', note: null });
  });

  it('says why an event is not possible, and what is', () => {
    expect(refused(aLife('deploying'), 'retire')).toBe(
      'retire is not possible from deploying: the installer writes its disk, allowed by an armed intent. It waits for the installer to ' +
        'report that the disk is written. What an operator can do: cancel, quarantine.',
    );
    expect(refused(failedAt('commission'), 'deploy')).toMatch(/^deploy is not possible from failed \(commission\): /);
    expect(refused(failedAt('commission'), 'deploy')).toMatch(/can do: commission, rescue, retire, quarantine\.$/);
    expect(refused(aLife('removed'), 'reactivate')).toMatch(/No event is possible any more\.$/);
  });

  it.each([
    ['an active machine is removed', aLife('active'), 'remove'],
    ['a draining machine is retired before it is empty', aLife('draining'), 'retire'],
    ['a machine that failed its tests is released to be ready', failedAt('commission'), 'release'],
    ['a machine that retired out of quarantine is released', aLife('retired', { resume: 'quarantined' }), 'release'],
    ['erasure is skipped before it was tried', aLife('releasing'), 'released-unerased'],
    ['a machine enrolls without being asked to', aLife('ready'), 'enrolled'],
  ] as const)('does not allow that %s', (_, from, event) => {
    expect(refused(from, event)).toContain(`${event} is not possible from ${from.state}`);
  });

  const aWildLife = fc.record<Lifecycle>({
    state: fc.constantFrom(...LIFECYCLE_STATES),
    since: fc.integer({ min: 0, max: NOW }),
    deadline: fc.option(fc.integer({ min: 0 })),
    resume: fc.option(fc.constantFrom(...LIFECYCLE_STATES)),
    failure: fc.option(
      fc.record({
        step: fc.constantFrom<FailedStep>('commission', 'deploy', 'enroll', 'drain', 'release'),
        reason: fc.string(),
      }),
    ),
    note: fc.option(fc.string()),
    fallbackUsed: fc.boolean(),
  });

  it('never throws, moves exactly on the possible events, and sets a deadline in every temporary state', () => {
    fc.assert(
      fc.property(aWildLife, fc.constantFrom(...ALL_EVENTS), (life, event) => {
        const result = step(life, event, { now: NOW, profileDeployMinutes: 30 });
        expect(result.moved).toBe(possibleEvents(life).includes(event));
        if (!result.moved) {
          expect(result.reason).toMatch(/ is not possible from .+\. /);
          return;
        }
        const { state, deadline } = result.lifecycle;
        expect(deadline === null).toBe(STATES[state].deadline === null);
        if (deadline !== null) expect(deadline).toBeGreaterThan(NOW);
      }),
      { numRuns: 2000 },
    );
  });
});

describe('a delayed effect', () => {
  it.each([
    ['a network boot applies while deploying', 'boot-from-network', aLife('deploying'), true],
    ['no network boot for a machine that is active now', 'boot-from-network', aLife('active'), false],
    ['no network boot for a quarantined machine', 'boot-from-network', aLife('quarantined'), false],
    ['a disk boot applies after rescue', 'boot-from-disk', aLife('active'), true],
    ['no disk boot during an installation', 'boot-from-disk', aLife('deploying'), false],
    ['a ready machine is switched off', 'power-off', aLife('ready'), true],
    ['a working machine is never switched off', 'power-off', aLife('active'), false],
    [
      'the fallback applies after the erasure failed',
      'release-without-erase',
      aLife('releasing', { fallbackUsed: true }),
      true,
    ],
    ['the fallback of an earlier release does not apply', 'release-without-erase', aLife('releasing'), false],
  ] as const)('%s', (_, kind, life, applies) => {
    expect(effectStillApplies(kind, life)).toBe(applies);
  });
});
