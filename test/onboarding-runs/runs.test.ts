// Whole runs against a simulated provider: which steps, which attempts, which end.

import { describe, expect, it } from 'vitest';
import { MINUTE } from '../../appliance/domain/instant.ts';
import type { FailureClass } from '../../appliance/domain/onboarding.ts';
import { T0 } from '../machines/machines.ts';
import { aRun, lived, type Script, World } from './world.ts';

const FOUND = [{ id: 'stranger', name: 'unknown-1', identity: 'same' as const }];
const fails = (about: FailureClass, where: 'deploying' | 'enrolling' = 'deploying') =>
  ({ fails: about, in: where }) as const;
const steps = ({ run }: World) => run.steps.map(({ step, attempt, outcome }) => `${step} ${attempt} ${outcome}`);
const kinds = (world: World) => world.events.map(({ kind }) => kind);

describe('an onboarding run', () => {
  it('takes a machine of which only the BMC address is known to an enrolled node', async () => {
    const world = await lived({ courses: ['enrolls'], newMachines: FOUND });
    expect(world.run).toMatchObject({ state: 'completed', attempt: 1, failure: null, work: 'work-1' });
    expect(world.effects.filter((effect) => !effect.startsWith('check'))).toEqual([
      ...['create', 'boot', 'claim stranger', 'commission', 'deploy'],
    ]);
    expect(steps(world)).toEqual([
      'preflight 1 done',
      'discover 1 done',
      'commission 1 done',
      'predeploy 1 done',
      'deploy 1 done',
      'enroll 1 done',
      'verify 1 done',
    ]);
    expect(kinds(world).at(-1)).toBe('onboarding.completed');
  });

  it('tries a listed class again after abort and return to ready, and records both attempts', async () => {
    const world = await lived({ courses: [fails('datasource', 'enrolling'), 'enrolls'], newMachines: FOUND });
    expect(world.run).toMatchObject({ state: 'completed', attempt: 2, retries: 1, work: 'work-2' });
    const done = world.effects.filter((effect) => ['deploy', 'return-to-ready'].includes(effect));
    expect(done).toEqual(['deploy', 'return-to-ready', 'deploy']);
    expect(steps(world).slice(4)).toEqual([
      'deploy 1 done',
      'enroll 1 failed',
      'predeploy 2 done',
      'deploy 2 done',
      'enroll 2 done',
      'verify 2 done',
    ]);
    expect(kinds(world)).toContain('onboarding.retried');
  });

  it.each([
    'network',
    'image',
    'disk',
    'bmc',
    'power',
    'site-bootstrap',
    'node-bootstrap',
    'enrollment',
    'unknown',
  ] as const)('does not try %s again when policy lists only datasource', async (about) => {
    const world = await lived({ courses: [fails(about), 'enrolls'], newMachines: FOUND });
    expect(world.run).toMatchObject({ state: 'failed', attempt: 1, failure: { class: about, step: 'deploy' } });
    expect(world.effects.filter((effect) => effect === 'deploy')).toHaveLength(1);
    expect(world.effects).not.toContain('return-to-ready');
  });

  it('stops at the limit of retries', async () => {
    const policy = { retry: ['network'], retries: 3 } as const;
    const world = await lived({ courses: [fails('network')], newMachines: FOUND, policy });
    expect(world.run).toMatchObject({ state: 'failed', attempt: 4, retries: 3 });
    expect(world.effects.filter((effect) => effect === 'deploy')).toHaveLength(4);
  });

  it.each<[string, Script, RegExp]>([
    [
      'two with its identity',
      { courses: [], newMachines: [...FOUND, { ...FOUND[0], id: 'b', name: 'unknown-2', identity: 'same' }] },
      /more than one/,
    ],
    [
      'one without proof',
      { courses: [], newMachines: [{ id: 'a', name: 'unknown-1', identity: 'unknown' }] },
      /auto_claim: false/,
    ],
    [
      'two without proof',
      {
        courses: [],
        policy: { autoClaim: true },
        newMachines: ['1', '2'].map((n) => ({ id: n, name: `unknown-${n}`, identity: 'unknown' as const })),
      },
      /more than one new machine/,
    ],
  ])('stops, and names the candidates, when it finds %s', async (_what, script, reason) => {
    const { run, effects } = await lived(script);
    expect(run).toMatchObject({
      state: 'failed',
      failure: { step: 'discover', reason: expect.stringMatching(reason) },
    });
    expect(run.failure?.candidates).toEqual(script.newMachines?.map(({ name }) => name));
    expect(effects).not.toContain('commission');
  });

  it('claims the only new machine where policy allows it, and never one with another identity', async () => {
    const policy = { autoClaim: true };
    const only = await lived({
      courses: ['enrolls'],
      policy,
      newMachines: [{ id: 'a', name: 'x', identity: 'unknown' }],
    });
    expect(only.run.state).toBe('completed');
    const other = await lived({
      courses: ['enrolls'],
      policy,
      newMachines: [{ id: 'a', name: 'x', identity: 'other' }],
    });
    expect(other.run).toMatchObject({ state: 'failed', failure: { step: 'discover', class: 'network' } });
  });

  it('boots again when a network boot is not seen, and not more than three times', async () => {
    const second = await lived({ courses: ['enrolls'], newMachines: FOUND, ignoredBoots: 1 });
    expect(second.run.state).toBe('completed');
    expect(second.effects.filter((effect) => effect === 'boot')).toHaveLength(2);
    const never = await lived({ courses: ['enrolls'], newMachines: FOUND, ignoredBoots: 9 });
    expect(never.effects.filter((effect) => effect === 'boot')).toHaveLength(3);
    expect(never.run.failure?.reason).toMatch(/^discover for 30 min, past its deadline/);
  });

  it('fails with the reasons of the guards, and deploys nothing', async () => {
    const refused = { ok: false, later: false, class: 'node-bootstrap', reason: 'its bundle has no CA' } as const;
    const world = await lived({ courses: ['enrolls'], newMachines: FOUND, predeploy: refused });
    expect(world.run.failure).toMatchObject({
      step: 'predeploy',
      class: 'node-bootstrap',
      reason: 'its bundle has no CA',
    });
    expect(world.effects).not.toContain('deploy');
  });

  it('waits for something that may succeed later, with pauses, until the deadline of the step', async () => {
    const later = { ok: false, later: true, reason: 'no answer' } as const;
    const world = await lived({ courses: ['enrolls'], newMachines: FOUND, predeploy: later });
    expect(world.run.failure).toMatchObject({
      step: 'predeploy',
      reason: expect.stringContaining('past its deadline'),
    });
    const tries = world.effects.filter((effect) => effect === 'check-predeploy').length;
    expect(tries).toBeGreaterThan(3);
    expect(tries).toBeLessThan(45);
  });

  it('stops the work that it started when it is cancelled', async () => {
    const world = await lived({ courses: ['enrolls'], newMachines: FOUND, cancelDuring: 'deploy' });
    expect(world.run).toMatchObject({ state: 'cancelled', cancel: { by: 'token:ops' } });
    expect(world.effects.at(-1)).toBe('abort');
  });

  it('does nothing before it is confirmed, when it is the first of its site', async () => {
    const world = new World({ courses: ['enrolls'] }, aRun({}, true));
    const { run } = world;
    await Promise.race([world.process(), new Promise((resolve) => setTimeout(resolve, 300))]);
    expect(world.effects).toEqual([]);
    expect(world.run).toBe(run);
  });

  it('gives each step a deadline and each ended step an end', async () => {
    const { run } = await lived({ courses: ['enrolls'], newMachines: FOUND });
    for (const { startedAt, deadline, endedAt } of run.steps) {
      expect(startedAt).toBeGreaterThanOrEqual(T0);
      expect(deadline - startedAt).toBeGreaterThanOrEqual(5 * MINUTE);
      expect(endedAt).not.toBeNull();
    }
  });
});
