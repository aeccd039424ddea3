import { describe, expect, it } from 'vitest';
import { EFFECT_KINDS } from '../../appliance/domain/effect.ts';
import { MINUTE } from '../../appliance/domain/instant.ts';
import {
  intentNeeded,
  LIFECYCLE_STATES,
  type Lifecycle,
  type LifecycleState,
} from '../../appliance/domain/lifecycle.ts';
import { SESSION_MODES } from '../../appliance/domain/session.ts';
import { STATES } from '../../appliance/domain/states.ts';
import { possibleEvents, step } from '../../appliance/machines/step.ts';
import { CONDITIONS, resumeTargets, TRANSITIONS, type TransitionRow } from '../../appliance/machines/transitions.ts';
import { everyLife } from './every-life.ts';
import { aLife, T0 } from './machines.ts';

const named = (row: TransitionRow): string => `${row.from} + ${row.event}${row.if ? ` if ${row.if}` : ''} → ${row.to}`;

const lives = everyLife();

describe('the transition table', () => {
  it.each(LIFECYCLE_STATES)('reaches %s from a machine that was seen or declared', (state) => {
    expect(lives.map((life) => life.state)).toContain(state);
  });

  it.each(TRANSITIONS.map((row) => [named(row), row] as const))('can use the row %s', (_, row) => {
    const usable = lives.some((life) => {
      if (life.state !== row.from) return false;
      const result = step(life, row.event, { now: T0, profileDeployMinutes: null });
      const resumed = row.to === 'resume' && result.moved && resumeTargets(row.from).has(result.lifecycle.state);
      return result.moved && result.effects === row.effects && (resumed || result.lifecycle.state === row.to);
    });
    expect(usable).toBe(true);
  });

  it('evaluates every condition, and uses every kind of effect', () => {
    expect(new Set(TRANSITIONS.flatMap((row) => row.if ?? []))).toEqual(new Set(Object.keys(CONDITIONS)));
    expect(new Set(TRANSITIONS.flatMap((row) => row.effects))).toEqual(new Set(EFFECT_KINDS));
  });

  it('has no row that an earlier one shadows', () => {
    const unconditional = TRANSITIONS.filter((row) => !row.if).map((row) => `${row.from} + ${row.event}`);
    expect(new Set(unconditional).size).toBe(unconditional.length);
    for (const [index, row] of TRANSITIONS.entries()) {
      const earlier = TRANSITIONS.slice(0, index).find((each) => each.from === row.from && each.event === row.event);
      expect(earlier && !earlier.if, named(row)).toBeFalsy();
    }
  });

  it('names the failed step on every row into failed, and elsewhere only into quarantine and on cancel', () => {
    for (const row of TRANSITIONS) {
      if (row.to === 'failed') expect(row.fails, named(row)).toBeDefined();
      else if (row.fails && row.to === 'resume') expect(row.event, named(row)).toBe('cancel');
      else if (row.fails) expect([row.to, row.remember], named(row)).toEqual(['quarantined', 'failed']);
    }
  });

  it('remembers the source on every row into a state that can resume', () => {
    const resumable = new Set(TRANSITIONS.filter((row) => row.to === 'resume').map((row) => row.from));
    for (const row of TRANSITIONS) {
      expect(row.remember !== undefined, named(row)).toBe(row.to !== 'resume' && resumable.has(row.to));
    }
  });

  it('resumes only into states without a deadline, or into one that its machine leaves by itself', () => {
    const resumed = new Set(lives.flatMap(({ resume }) => resume ?? []));
    expect([...resumed].filter((state) => STATES[state].deadline !== null)).toEqual(['enrolling']);
    expect(
      step(aLife('rescue', { resume: 'enrolling' }), 'rescue-ended', { now: T0, profileDeployMinutes: null }),
    ).toMatchObject({ lifecycle: { state: 'enrolling', deadline: T0 + 15 * MINUTE }, effects: ['boot-from-disk'] });
  });

  it('quarantines from every state but quarantined and removed, without effects', () => {
    const rows = TRANSITIONS.filter((row) => row.event === 'quarantine');
    expect(new Set(rows.map((row) => row.from))).toEqual(
      new Set(LIFECYCLE_STATES.filter((state) => state !== 'quarantined' && state !== 'removed')),
    );
    for (const row of rows) expect(row).toMatchObject({ to: 'quarantined', effects: [] });
  });

  it('ends a quarantine only by clearing it', () => {
    const trusted = (state: LifecycleState) => !['quarantined', 'retired', 'removed'].includes(state);
    const seen = new Set<string>();
    const open: Lifecycle[] = lives.filter((life) => life.state === 'quarantined');
    for (let life = open.pop(); life; life = open.pop()) {
      for (const event of possibleEvents(life).filter((each) => each !== 'clear-quarantine')) {
        const result = step(life, event, { now: T0, profileDeployMinutes: null });
        if (!result.moved) continue;
        expect(trusted(result.lifecycle.state), `${life.state} + ${event}`).toBe(false);
        const key = JSON.stringify(result.lifecycle);
        if (!seen.has(key)) open.push(result.lifecycle);
        seen.add(key);
      }
    }
    expect(seen.size).toBeGreaterThan(0);
  });

  it('revokes the identity of a released machine when its release ends, not when it begins', () => {
    const revoking = TRANSITIONS.filter((row) => row.revokesIdentity && row.from === 'releasing').map(named);
    expect(revoking).toEqual(TRANSITIONS.filter((row) => row.from === 'releasing' && row.to === 'ready').map(named));
  });

  it('revokes the token of an enrollment that an operator gives up, and of none that a rescue interrupts', () => {
    const revoking = TRANSITIONS.filter((row) => row.revokesIdentity && row.from === 'enrolling').map(named);
    expect(revoking).toEqual(['enrolling + cancel → resume', 'enrolling + deploy → deploying']);
    const elsewhere = TRANSITIONS.filter((row) => row.revokesIdentity).map(({ from }) => from);
    expect(new Set(elsewhere)).toEqual(new Set(['failed', 'enrolling', 'releasing', 'discovered', 'retired']));
  });

  it('removes only retired or never accepted machines, and revokes their identity', () => {
    const rows = TRANSITIONS.filter((row) => row.to === 'removed');
    expect(rows.map((row) => row.from).sort()).toEqual(['discovered', 'retired']);
    for (const row of rows) expect(row).toMatchObject({ effects: [], revokesIdentity: true });
    expect(TRANSITIONS.filter((row) => row.from === 'removed')).toEqual([]);
  });
});

describe('the table of states', () => {
  it.each(LIFECYCLE_STATES)('says what %s waits for and what is safe to do', (state) => {
    expect(STATES[state].waitsFor).toMatch(/^It waits for .+\.$/);
    expect(STATES[state].nextStep).toMatch(/^[A-Z].+\.$/);
  });

  it.each(LIFECYCLE_STATES)('gives %s a deadline exactly when the table has a row for it', (state) => {
    const rows = TRANSITIONS.filter((row) => row.from === state && row.event === 'deadline');
    expect(rows.some((row) => !row.if)).toBe(STATES[state].deadline !== null);
  });

  it.each(LIFECYCLE_STATES)('names for %s only a failure that the table has a row for', (state) => {
    const event = STATES[state].ifEffectFails;
    if (event) expect(TRANSITIONS.some((row) => row.from === state && row.event === event)).toBe(true);
    const waits = TRANSITIONS.some((row) => row.from === state && row.event.endsWith('-failed'));
    expect(event !== null).toBe(waits);
  });

  it.each(LIFECYCLE_STATES)('lets an operator cancel %s exactly when the table has a row for it', (state) => {
    expect(STATES[state].cancellable).toBe(TRANSITIONS.some((row) => row.from === state && row.event === 'cancel'));
  });

  it.each(LIFECYCLE_STATES)('reports for the session of %s only events that the table has a row for', (state) => {
    const { session } = STATES[state];
    const rows = TRANSITIONS.filter((row) => row.from === state).map((row) => row.event);
    for (const event of [session?.succeeded, session?.failed]) if (event) expect(rows).toContain(event);
  });

  it('has one state for each kind of session and of intent, and an inspection in none', () => {
    const modes = LIFECYCLE_STATES.flatMap((state) => STATES[state].session?.mode ?? []);
    expect(modes.toSorted()).toEqual(SESSION_MODES.filter((mode) => mode !== 'inspect').toSorted());
    const intents = LIFECYCLE_STATES.flatMap((state) => intentNeeded(state) ?? []);
    expect(intents.toSorted()).toEqual(['deploy', 'erase']);
  });

  it.each(LIFECYCLE_STATES)('lets the inventory remove a machine that is %s only when nothing runs on it', (state) => {
    const { session, deadline, removableByInventory } = STATES[state];
    if (session !== null || deadline !== null) expect(removableByInventory).toBe(false);
  });

  it.each(LIFECYCLE_STATES)('allows tasks in %s only for an enrolled node', (state) => {
    const { node, enrollment } = STATES[state];
    expect(node.tasks).toBe(enrollment === 'done');
  });
});
