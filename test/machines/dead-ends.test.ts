// From every state that a machine can be in, an operator gets it out with commands alone: no deadline has to pass, and the machine,
// its BMC and its system may be dead.

import { describe, expect, it } from 'vitest';
import { NODE_COMMANDS } from '../../appliance/contract/commands.ts';
import { FAILED_STEPS, type Lifecycle, type LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { STATES } from '../../appliance/domain/states.ts';
import type { Decision } from '../../appliance/machines/commands/decision.ts';
import { moved } from '../../appliance/machines/commands/move.ts';
import { cancel, deploy, release, startServiceOs } from '../../appliance/machines/commands/work.ts';
import { EVENTS, type LifecycleEvent } from '../../appliance/machines/transitions.ts';
import { everyLife, lifeKey } from './every-life.ts';
import { aLife, aMachine, anIntent, T0 } from './machines.ts';

const ORIGIN = { actor: 'token:ops', correlationId: null };
const CONTEXT = { now: T0, id: 'new', deployMinutes: null };
const COMMAND = { problems: [], origin: ORIGIN };
const PROFILE = 'worker' as never;

type Verb = (machine: ReturnType<typeof aMachine>) => Decision;
const event =
  (name: LifecycleEvent): Verb =>
  (machine) =>
    moved(machine, { event: name, origin: ORIGIN }, CONTEXT);

/** What each verb of the command line decides, by its event. */
const VERBS = {
  accept: event('accept'),
  commission: (machine) => startServiceOs(machine, 'commission', COMMAND, CONTEXT),
  deploy: (machine) => deploy(machine, { ...COMMAND, profile: PROFILE, minutes: 45 }, CONTEXT),
  release: (machine) => release(machine, COMMAND, CONTEXT),
  'mark-fixed': event('mark-fixed'),
  cancel: (machine) => cancel(machine, ORIGIN, CONTEXT),
  rescue: (machine) => startServiceOs(machine, 'rescue', COMMAND, CONTEXT),
  'end-rescue': event('rescue-ended'),
  drain: event('drain'),
  drained: event('drained'),
  undrain: event('undrain'),
  retire: event('retire'),
  reactivate: event('reactivate'),
  quarantine: event('quarantine'),
  'clear-quarantine': event('clear-quarantine'),
  remove: event('remove'),
  'token issue': event('enroll'),
} as const satisfies Readonly<Record<string, Verb>>;
type VerbName = keyof typeof VERBS;
const VERB_NAMES = Object.keys(VERBS) as readonly VerbName[];

/** Null: refused. `begun`: its intent is consumed, so its disks may be partly written. */
function lifeAfter(life: Lifecycle, verb: VerbName, begun: boolean): Lifecycle | null {
  const intent = anIntent({ kind: life.state === 'releasing' ? 'erase' : 'deploy', consumedAt: begun ? T0 : null });
  const decision = VERBS[verb](aMachine({ lifecycle: life, intent }));
  return decision.outcome === 'change' ? (decision.change.lifecycle ?? null) : null;
}

const GOALS: readonly LifecycleState[] = ['ready', 'active', 'registered', 'removed'];

/** The fewest verbs to one of the goals; null: there is no way. */
function wayOut(from: Lifecycle, begun: boolean): VerbName[] | null {
  const seen = new Set<string>();
  let front: { readonly life: Lifecycle; readonly way: VerbName[] }[] = [{ life: from, way: [] }];
  while (front.length > 0) {
    const next: typeof front = [];
    for (const { life, way } of front) {
      if (GOALS.includes(life.state)) return way;
      for (const verb of VERB_NAMES) {
        const reached = lifeAfter(life, verb, begun);
        if (reached === null || seen.has(lifeKey(reached))) continue;
        seen.add(lifeKey(reached));
        next.push({ life: reached, way: [...way, verb] });
      }
    }
    front = next;
  }
  return null;
}

const lives = everyLife();
const shownLife = ({ state, resume, failure, fallbackUsed }: Lifecycle): string =>
  `${state}${failure ? `(${failure.step})` : ''}${resume ? `, back to ${resume}` : ''}${fallbackUsed ? ', without erasure' : ''}`;

describe('an operator', () => {
  it('has a verb for each of the operator events, and no other', () => {
    const operator = (Object.keys(EVENTS) as LifecycleEvent[]).filter((name) => EVENTS[name].by === 'operator');
    const verbs = operator.map(
      (name) => ({ 'rescue-ended': 'end-rescue', enroll: 'token issue' })[name as string] ?? name,
    );
    expect(new Set(verbs)).toEqual(new Set(VERB_NAMES.filter((name) => name !== 'drained')));
    const commands = Object.values(NODE_COMMANDS).map(({ cli }) => cli.verb.replace('nodes ', ''));
    expect(new Set([...VERB_NAMES, 'rebind'])).toEqual(new Set([...commands, 'token issue']));
  });

  it.each([false, true])('leads every machine to a state of rest without its help, work begun: %s', (begun) => {
    const stuck = lives.filter((life) => wayOut(life, begun) === null).map(shownLife);
    expect(stuck).toEqual([]);
    expect(lives.length).toBeGreaterThan(60);
  });

  it.each([false, true])('ends with one verb everything that waits for a machine, work begun: %s', (begun) => {
    const waiting = lives.filter(({ state }) => STATES[state].deadline !== null);
    for (const life of waiting) {
      const ended = VERB_NAMES.filter((verb) => verb !== 'quarantine').some((verb) => {
        const reached = lifeAfter(life, verb, begun);
        // A rescue may have interrupted an enrollment, which then goes on.
        return reached !== null && (STATES[reached.state].deadline === null || reached.state === life.resume);
      });
      expect(ended, shownLife(life)).toBe(true);
    }
  });

  it.each(FAILED_STEPS)('repeats %s after it failed', (step) => {
    const verb: VerbName = step === 'enroll' ? 'token issue' : step;
    const failed = aLife('failed', { failure: { step, reason: 'smoke' } });
    expect(lifeAfter(failed, verb, true)?.state, verb).toMatch(/ing$/);
  });

  it('gets a failed state with a reason from every verb that leads there', () => {
    for (const life of lives) {
      for (const verb of VERB_NAMES) {
        for (const begun of [false, true]) {
          const reached = lifeAfter(life, verb, begun);
          if (reached?.state === 'failed') expect(reached.failure, `${shownLife(life)} + ${verb}`).not.toBeNull();
        }
      }
    }
  });
});
