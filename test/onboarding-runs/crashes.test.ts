// A run is killed between any two operations, before and after each took effect: it is not lost, it ends as it would have without the
// crash, and nothing is done twice.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lived, type Script, World } from './world.ts';

const NEW = [{ id: 'stranger', name: 'unknown-1', identity: 'same' as const }];
const SCRIPTS: Readonly<Record<string, Script>> = {
  'enrolls at once': { courses: ['enrolls'], newMachines: NEW },
  'fails in a listed class, then enrolls': {
    courses: [{ fails: 'datasource', in: 'enrolling' }, 'enrolls'],
    newMachines: NEW,
  },
  'fails in a class that is not listed': { courses: [{ fails: 'disk', in: 'deploying' }], newMachines: NEW },
  'fails in a listed class until the limit': {
    courses: [{ fails: 'network', in: 'deploying' }],
    newMachines: NEW,
    policy: { retry: ['network'], retries: 2 },
  },
  'is cancelled while it is deployed': { courses: ['enrolls'], newMachines: NEW, cancelDuring: 'deploy' },
  'is ambiguous': {
    courses: ['enrolls'],
    newMachines: [...NEW, { ...NEW[0], id: 'twin', name: 'unknown-2' }] as never,
  },
};

/** A network boot may be repeated after a crash, because nobody can ask whether it happened; and a check has no effect. */
const counted = (world: World): string[] =>
  world.effects.filter((effect) => effect !== 'boot' && !effect.startsWith('check') && effect !== 'adopt');

const ending = ({ run }: World) => ({
  state: run.state,
  attempt: run.attempt,
  failure: run.failure && [run.failure.step, run.failure.class, run.failure.candidates],
  steps: run.steps.map(({ step, attempt, outcome }) => [step, attempt, outcome]),
});

const SKIPPED_AFTER_A_CRASH = (steps: ReturnType<typeof ending>['steps']) =>
  steps.map(([step, attempt, outcome]) => [step, attempt, outcome === 'skipped' ? 'done' : outcome]);

async function livedThrough(script: Script, kills: readonly (readonly [operations: number, after: boolean])[]) {
  const world = new World(script);
  for (const [operations, after] of kills) {
    world.killIn(operations, after);
    if (!(await world.process())) return world;
  }
  await world.process();
  return world;
}

describe.each(Object.entries(SCRIPTS))('a run that %s', (_name, script) => {
  it('ends the same when it is killed at any point', async () => {
    const expected = await lived(script);
    for (let operations = 0; operations < expected.operations; operations += 1) {
      for (const after of [false, true]) {
        const world = await livedThrough(script, [[operations, after]]);
        const where = `killed ${after ? 'after' : 'before'} operation ${operations}`;
        const { steps, ...rest } = ending(world);
        const wanted = ending(expected);
        expect({ ...rest, steps: SKIPPED_AFTER_A_CRASH(steps) }, where).toEqual({
          ...wanted,
          steps: SKIPPED_AFTER_A_CRASH(wanted.steps),
        });
        // Killed before it was begun, a deployment that is cancelled meanwhile never begins, and needs no abort.
        const effects = counted(world);
        const begins = script.cancelDuring === undefined || effects.includes(script.cancelDuring);
        const never = ['deploy', 'abort'];
        expect(effects, where).toEqual(counted(expected).filter((effect) => begins || !never.includes(effect)));
        expect(world.effects.filter((effect) => effect === 'boot').length, where).toBeLessThanOrEqual(2);
      }
    }
  });
});

describe('a run that is killed many times', () => {
  it('always ends, and deploys once for each attempt', async () => {
    const kill = fc.tuple(fc.integer({ min: 0, max: 40 }), fc.boolean());
    const script = fc.constantFrom(...Object.values(SCRIPTS));
    await fc.assert(
      fc.asyncProperty(script, fc.array(kill, { maxLength: 20 }), async (chosen, kills) => {
        const world = await livedThrough(chosen, kills);
        const { run } = world;
        expect(['completed', 'failed', 'cancelled']).toContain(run.state);
        const deployments = world.effects.filter((effect) => effect === 'deploy').length;
        expect(deployments).toBeLessThanOrEqual(run.attempt);
        expect(world.effects.filter((effect) => effect === 'create').length).toBe(1);
        expect(run.attempt).toBeLessThanOrEqual(1 + world.policy.retries);
        expect(run.endedAt).not.toBeNull();
        expect(new Set(world.events.map(({ correlationId }) => correlationId))).toEqual(new Set(['corr-1']));
      }),
      { numRuns: 150 },
    );
  });
});
