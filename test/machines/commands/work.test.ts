import { describe, expect, it } from 'vitest';
import { parseChassisUuid } from '../../../appliance/domain/chassis.ts';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import { LIFECYCLE_STATES, type Lifecycle, type LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import { parseMac } from '../../../appliance/domain/mac.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import { parseObjectName } from '../../../appliance/domain/names.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import type { Decision } from '../../../appliance/machines/commands/decision.ts';
import { consumed } from '../../../appliance/machines/commands/intents.ts';
import { moved } from '../../../appliance/machines/commands/move.ts';
import { cancel, deploy, release, startServiceOs } from '../../../appliance/machines/commands/work.ts';
import { EVENTS, type LifecycleEvent } from '../../../appliance/machines/transitions.ts';
import type { Change } from '../../../appliance/store/change.ts';
import { aLife, aMachine, anIntent, T0 } from '../machines.ts';

const NOW = T0 + MINUTE;
const CONTEXT = { now: NOW, id: 'new', deployMinutes: null };
const ORIGIN = { actor: 'token:ops', correlationId: 'corr-1' };
const PROFILE = mustParse(parseObjectName('worker'));
const UUID = mustParse(parseChassisUuid('4c4c4544-0031-3510-8052-b4c04f4d3132'));
const MACS = ['52:54:00:00:00:01', '52:54:00:00:00:02'].map((text) => mustParse(parseMac(text)));

/** Two network cards and a known chassis. */
function aServer(state: LifecycleState, changes: Partial<Lifecycle> = {}, more: Partial<Machine> = {}): Machine {
  const machine = aMachine({ lifecycle: aLife(state, changes) });
  const [nic] = machine.spec.interfaces;
  if (!nic) throw new Error('it has a card');
  const interfaces = MACS.map((mac, at) => ({ ...nic, name: `eth${at}`, mac }));
  return { ...machine, spec: { ...machine.spec, uuid: UUID, interfaces }, ...more };
}

const deployed = (machine: Machine, changes: Partial<Parameters<typeof deploy>[1]> = {}): Decision =>
  deploy(machine, { profile: PROFILE, minutes: 45, problems: [], origin: ORIGIN, ...changes }, CONTEXT);

function changeOf(decision: Decision): Change {
  if (decision.outcome !== 'change') throw new Error(`it was ${JSON.stringify(decision)}`);
  return decision.change;
}

const writesOf = (decision: Decision) => changeOf(decision).writes.map(({ kind }) => kind);
const kindsOf = (decision: Decision) => changeOf(decision).events.map(({ kind }) => kind);

describe('deploy', () => {
  it('arms the intent for every MAC and the UUID of the machine, in the change that moves it', () => {
    const change = changeOf(deployed(aServer('ready')));
    expect(change).toMatchObject({ version: 1, lifecycle: { state: 'deploying', deadline: NOW + 45 * MINUTE } });
    expect(change.writes).toContainEqual({
      kind: 'arm-intent',
      intent: expect.objectContaining({ kind: 'deploy', macs: MACS, uuid: UUID, profile: PROFILE, actor: 'token:ops' }),
    });
    expect(change.writes).toContainEqual({
      kind: 'arm-intent',
      intent: expect.objectContaining({
        armedAt: NOW,
        expiresAt: NOW + 45 * MINUTE,
        consumedAt: null,
        revokedAt: null,
      }),
    });
    expect(change.effects).toMatchObject([{ kind: 'boot-from-network', correlationId: 'corr-1' }]);
    expect(change.events.map(({ kind }) => kind)).toEqual(['intent.armed', 'lifecycle.deploying']);
    expect(change.audit.map(({ action }) => action)).toEqual(['intent.armed', 'node.deploy']);
  });

  it('ends earlier sessions in the same change', () => {
    expect(changeOf(deployed(aServer('ready'))).writes).toContainEqual({
      kind: 'end-sessions',
      end: { how: 'cancelled', at: NOW, reason: 'replaced by deploy' },
    });
  });

  it.each([
    ['from a state that does not allow it', aServer('active'), {}, 'conflict', /deploy is not possible from active/],
    ['without a profile', aServer('ready'), { profile: null }, 'not_deployable', /cannot be deployed/],
    ['with problems', aServer('ready'), { problems: ['no image'] }, 'not_deployable', /cannot be deployed/],
    ['without a MAC', aMachineWithoutMac('ready'), {}, 'conflict', /no MAC address/],
  ] as const)('%s is refused with the reason, and arms nothing', (_, machine, changes, code, message) => {
    const decision = deployed(machine, changes);
    expect(decision).toMatchObject({ outcome: 'refused', refusal: { code, message: expect.stringMatching(message) } });
  });

  it('lists every problem once', () => {
    const decision = deployed(aServer('ready'), { problems: ['no image', 'no BMC', 'no image'] });
    expect(decision).toMatchObject({ refusal: { details: ['no image', 'no BMC'] } });
  });
});

describe('deploy again while it enrolls', () => {
  it('revokes the outstanding token and arms a new intent, in one change', () => {
    const decision = deployed(aServer('enrolling', { resume: 'failed' }, { intent: anIntent({ consumedAt: T0 }) }));
    expect(writesOf(decision)).toEqual(['end-sessions', 'arm-intent', 'revoke-identity']);
    expect(changeOf(decision).lifecycle).toMatchObject({ state: 'deploying', resume: 'failed', failure: null });
    expect(changeOf(decision).effects).toMatchObject([{ kind: 'boot-from-network' }]);
  });
});

describe('release', () => {
  it('arms an erasure and keeps the identity', () => {
    const decision = release(aServer('active'), { problems: [], origin: ORIGIN }, CONTEXT);
    expect(writesOf(decision)).toEqual(['end-sessions', 'arm-intent']);
    expect(changeOf(decision).lifecycle).toMatchObject({ state: 'releasing', resume: 'active' });
  });

  it('revokes the identity when the erase intent is consumed, not before', () => {
    const machine = aServer('releasing', {}, { intent: anIntent({ kind: 'erase' }) });
    const change = consumed(machine, anIntent().id, null, NOW);
    expect(change.writes.map(({ kind }) => kind)).toEqual(['consume-intent', 'revoke-identity']);
    const installing = aServer('deploying', {}, { intent: anIntent() });
    expect(consumed(installing, anIntent().id, null, NOW).writes.map(({ kind }) => kind)).toEqual(['consume-intent']);
  });
});

describe.each(['commission', 'rescue'] as const)('%s', (event) => {
  it('is refused when the machine could not start the service OS', () => {
    const command = { problems: ['no service OS'], origin: ORIGIN };
    expect(startServiceOs(aServer('ready'), event, command, CONTEXT)).toMatchObject({
      outcome: 'refused',
      refusal: { code: 'conflict', message: expect.stringMatching(/^node01 cannot be .*: no service OS$/) },
    });
  });

  it('starts it otherwise', () => {
    const change = changeOf(startServiceOs(aServer('ready'), event, { problems: [], origin: ORIGIN }, CONTEXT));
    expect(change.effects).toMatchObject([{ kind: 'boot-from-network' }]);
  });
});

describe('cancel', () => {
  const armed = anIntent();
  const used = anIntent({ consumedAt: T0 + 1 });

  it.each([
    ['commissioning, back to the earlier state', aServer('commissioning', { resume: 'ready' }), 'ready', false],
    [
      'an installation that was not consumed',
      aServer('deploying', { resume: 'ready' }, { intent: armed }),
      'ready',
      true,
    ],
    ['an installation that began', aServer('deploying', { resume: 'ready' }, { intent: used }), 'failed', false],
    ['an erasure that was not consumed', aServer('releasing', { resume: 'active' }, { intent: armed }), 'active', true],
    ['an erasure that began', aServer('releasing', { resume: 'active' }, { intent: used }), 'failed', false],
  ] as const)('cancels %s', (_, machine, state, revokes) => {
    const decision = cancel(machine, ORIGIN, CONTEXT);
    expect(changeOf(decision).lifecycle?.state).toBe(state);
    expect(writesOf(decision)).toEqual(revokes ? ['end-sessions', 'revoke-intents'] : ['end-sessions']);
    expect(kindsOf(decision)).toEqual([...(revokes ? ['intent.revoked'] : []), `lifecycle.${state}`]);
  });

  it('restores a node that was retired before its release, with its earlier state', () => {
    const retired = aServer('retired', { resume: 'active' });
    const releasing = changeOf(release(retired, { problems: [], origin: ORIGIN }, CONTEXT)).lifecycle;
    const back = changeOf(cancel({ ...retired, lifecycle: releasing ?? aLife('ready') }, ORIGIN, CONTEXT)).lifecycle;
    expect(back).toMatchObject({ state: 'retired', resume: 'active' });
  });

  it.each([
    ['the installed system had not enrolled', 'failed' as const, { step: 'enroll' }],
    ['nothing was installed', 'registered' as const, null],
  ])('ends an enrollment and revokes its token: %s', (_, resume, failure) => {
    const decision = cancel(aServer('enrolling', { resume }, { intent: used }), ORIGIN, CONTEXT);
    expect(changeOf(decision).lifecycle).toMatchObject({ state: resume, failure });
    expect(writesOf(decision)).toEqual(['end-sessions', 'revoke-identity']);
    expect(changeOf(decision).effects).toEqual([]);
  });

  it('says of a cancelled enrollment that nothing had enrolled', () => {
    const { lifecycle } = changeOf(cancel(aServer('enrolling', { resume: 'failed' }), ORIGIN, CONTEXT));
    expect(lifecycle?.failure?.reason).toBe('cancelled by token:ops, before the installed system had enrolled');
  });

  it('is refused where there is nothing to cancel, and names the verb that ends the state', () => {
    expect(cancel(aServer('active'), ORIGIN, CONTEXT)).toMatchObject({
      refusal: { message: 'node01 is active: there is nothing to cancel', hint: undefined },
    });
    expect(cancel(aServer('rescue'), ORIGIN, CONTEXT)).toMatchObject({
      refusal: { hint: 'To end this state: coldiron end-rescue node01' },
    });
  });
});

describe('every event of the table', () => {
  const events = Object.keys(EVENTS) as LifecycleEvent[];

  it.each(LIFECYCLE_STATES)('from %s revokes an open intent when it moves, and gives a reason otherwise', (state) => {
    for (const event of events) {
      const machine = aServer(state, { resume: 'ready' }, { intent: anIntent() });
      const decision = moved(machine, { event, origin: ORIGIN }, CONTEXT);
      if (decision.outcome === 'change') expect(writesOf(decision), event).toContain('revoke-intents');
      else if (decision.outcome === 'refused') expect(decision.refusal.message, event).toMatch(/is not possible from/);
    }
  });

  it('revokes the identity of a machine that is removed', () => {
    expect(writesOf(moved(aServer('retired'), { event: 'remove', origin: ORIGIN }, CONTEXT))).toEqual([
      'revoke-identity',
    ]);
  });
});

function aMachineWithoutMac(state: LifecycleState): Machine {
  const machine = aMachine({ lifecycle: aLife(state) });
  return { ...machine, spec: { ...machine.spec, interfaces: [] } };
}

describe('draining', () => {
  const cancelledBy = (state: LifecycleState, event: LifecycleEvent, changes: Partial<Lifecycle> = {}) =>
    changeOf(moved(aServer(state, changes), { event, origin: ORIGIN }, CONTEXT)).writes.flatMap((write) =>
      write.kind === 'cancel-tasks' ? [[write.cancellation.task, write.cancellation.which]] : [],
    );

  it('cancels the tasks of the opposite in the change that starts or ends it', () => {
    const failure = { step: 'drain', reason: 'x' } as const;
    expect(cancelledBy('active', 'drain')).toEqual([['undrain', 'waiting']]);
    expect(cancelledBy('failed', 'drain', { failure })).toEqual([['undrain', 'waiting']]);
    expect(cancelledBy('draining', 'undrain')).toEqual([['drain', 'never-started']]);
    expect(cancelledBy('draining', 'drained')).toEqual([['drain', 'never-started']]);
    expect(cancelledBy('draining', 'quarantine')).toEqual([['drain', 'never-started']]);
    expect(cancelledBy('failed', 'undrain', { failure })).toEqual([]);
    expect(cancelledBy('active', 'quarantine')).toEqual([]);
  });
});
