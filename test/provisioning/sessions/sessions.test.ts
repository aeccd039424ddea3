import { afterEach, describe, expect, it } from 'vitest';
import { ColdironError } from '../../../appliance/domain/errors.ts';
import { MINUTE } from '../../../appliance/domain/instant.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { SessionMode, SessionSecret } from '../../../appliance/domain/session.ts';
import { newSessionSecret } from '../../../appliance/provisioning/sessions/session-secret.ts';
import { mac, transitionOf } from '../../store/samples.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { writesTo } from '../../store/writes.ts';
import { CALL, keyIn, SessionsRig } from './sessions-rig.ts';

const place = useScratchFolder();
let rig: SessionsRig;
const inState = async (state: LifecycleState): Promise<SessionsRig> => {
  rig = await SessionsRig.open(place('coldiron.db'), state);
  return rig;
};
afterEach(() => rig.store.close());

const SELF = { mac: mac(1) };
const FACTS = { disks: [{ name: 'sda', bytes: 1 }], nics: [{ name: 'eno1', mac: mac(1) }] };
const conflict = (message: RegExp) =>
  expect.objectContaining({ code: 'conflict', message: expect.stringMatching(message) });
const over = (message: RegExp) =>
  expect.objectContaining({ code: 'session_over', message: expect.stringMatching(message) });

describe('a ticket', () => {
  it('is valid for a quarter of an hour, and then rejected', async () => {
    const { sessions, time } = await inState('commissioning');
    const inTime = await rig.ticket('commission');
    time.now += 15 * MINUTE - 1;
    await sessions.open(inTime, SELF, CALL);
    const late = await rig.ticket('commission');
    time.now += 15 * MINUTE;
    await expect(sessions.open(late, SELF, CALL)).rejects.toThrow(conflict(/expired/));
  });

  it('is rejected after its machine left the state it was issued for, also when the machine returned', async () => {
    const { sessions, store, machine } = await inState('commissioning');
    const text = await rig.ticket('commission');
    const ready = await writesTo(store).transition(transitionOf(machine, 'ready'));
    await expect(sessions.open(text, SELF, CALL)).rejects.toThrow(conflict(/node1 is ready now/));
    rig.time.now += MINUTE;
    const again = { ...machine.lifecycle, since: rig.time.now };
    await writesTo(store).transition(transitionOf(ready, 'commissioning', { lifecycle: again }));
    await expect(sessions.open(text, SELF, CALL)).rejects.toThrow(conflict(/commissioning now/));
  });

  it('opens one session for concurrent requests, and the others are audited', async () => {
    const { sessions, store } = await inState('deploying');
    const text = await rig.ticket('install');
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => sessions.open(text, SELF, CALL)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const actions = (await store.auditEntries(0, 100)).map(({ action }) => action);
    expect(actions.filter((action) => action === 'session.refused')).toHaveLength(9);
  });

  const NONCE = 'a1'.repeat(32);
  const step = { sequence: 1, step: 'inspect', status: 'started' };

  it('reopens its session for the same opener after a lost reply, and the lost key is invalid', async () => {
    const { sessions, store } = await inState('deploying');
    const text = await rig.ticket('install');
    const lost = keyIn(await sessions.open(text, { ...SELF, nonce: NONCE }, CALL));
    rig.time.now += 4 * MINUTE;
    const received = keyIn(await sessions.open(text, { ...SELF, nonce: NONCE }, CALL));
    await expect(sessions.step(lost, step, CALL)).rejects.toMatchObject({ code: 'unauthenticated' });
    await sessions.step(received, step, CALL);
    const kinds = (await store.events({ limit: 10 })).map(({ kind }) => kind);
    expect(kinds).toEqual(expect.arrayContaining(['session.opened', 'session.reopened']));
    expect((await store.auditEntries(0, 100)).map(({ action }) => action)).toContain('session.reopened');
  });

  it('does not reopen after five minutes, after the first report, or after the end', async () => {
    const { sessions, store, machine } = await inState('deploying');
    const again = async (text: SessionSecret) =>
      expect(sessions.open(text, { ...SELF, nonce: NONCE }, CALL)).rejects.toThrow(conflict(/used already/));
    const late = await rig.ticket('install');
    await sessions.open(late, { ...SELF, nonce: NONCE }, CALL);
    rig.time.now += 5 * MINUTE + 1;
    await again(late);
    const reported = await rig.ticket('install');
    await sessions.step(keyIn(await sessions.open(reported, { ...SELF, nonce: NONCE }, CALL)), step, CALL);
    await again(reported);
    rig.time.now += 1;
    const ended = await rig.ticket('install');
    await sessions.open(ended, { ...SELF, nonce: NONCE }, CALL);
    await writesTo(store).endSessionsOf(machine.id, 'cancelled', rig.time.now, 'replaced by deploy');
    await again(ended);
  });

  it.each([
    ['another nonce', { nonce: 'b2'.repeat(32) }],
    ['no nonce', {}],
    ['the nonce in another chassis', { nonce: NONCE, mac: mac(2) }],
  ])('does not reopen for %s', async (_, changes) => {
    const { sessions } = await inState('deploying');
    const text = await rig.ticket('install');
    const key = keyIn(await sessions.open(text, { ...SELF, nonce: NONCE }, CALL));
    await expect(sessions.open(text, { ...SELF, ...changes }, CALL)).rejects.toThrow(
      conflict(/used already|not a card/),
    );
    await sessions.step(key, step, CALL);
  });

  it('that was never issued opens nothing, without details', async () => {
    const { sessions } = await inState('deploying');
    await expect(sessions.open(newSessionSecret().text, SELF, CALL)).rejects.toThrow(
      expect.objectContaining({ code: 'not_found' }),
    );
  });
});

describe('a session', () => {
  it('ends when its machine opens a newer one: commissioning starts over', async () => {
    const { sessions } = await inState('commissioning');
    const first = await rig.session('commission');
    rig.time.now += MINUTE;
    const second = await rig.session('commission');
    await expect(sessions.step(first, { step: 'inspect', status: 'started' }, CALL)).rejects.toThrow(
      over(/newer session/),
    );
    expect(await sessions.order(first)).toMatchObject({ cancelled: true });
    expect(await sessions.order(second)).toMatchObject({ cancelled: false });
  });

  it('ends with its deadline', async () => {
    const { sessions, store, machine } = await inState('deploying');
    const key = await rig.session('install');
    rig.time.now += 60 * MINUTE;
    await expect(sessions.facts(key, FACTS, CALL)).rejects.toThrow(over(/has expired/));
    await expect(sessions.outcome(key, { ok: true })).rejects.toThrow(over(/has ended/));
    expect((await store.sessionsOf(machine.id, 1))[0]?.ended).toMatchObject({ how: 'expired' });
    expect(await rig.state()).toMatchObject({ state: 'deploying' });
  });

  it('accepts reports in any order and none twice: the highest number counts', async () => {
    const { sessions, store, machine } = await inState('deploying');
    const key = await rig.session('install');
    const report = (sequence: number, percent: number) =>
      sessions.step(key, { sequence, step: 'write-image', status: 'progress', percent }, CALL);
    for (const [sequence, percent] of [
      [3, 30],
      [1, 10],
      [3, 99],
      [2, 20],
    ] as const)
      await report(sequence, percent);
    expect((await store.sessionsOf(machine.id, 1))[0]).toMatchObject({ sequence: 3, last: { percent: 30 } });
  });

  it('records one event for every 10 % of progress', async () => {
    const { sessions, store } = await inState('deploying');
    const key = await rig.session('install');
    for (let percent = 0; percent <= 100; percent += 1) {
      await sessions.step(key, { step: 'write-image', status: 'progress', percent }, CALL);
    }
    expect(await store.events({ kind: 'session.step', limit: 1000 })).toHaveLength(11);
  });

  // The names that the installers request, not the product's own list of secret files.
  it.each(['user-data', 'secrets.tar', 'disk-key'])('issues %s once, and audits it', async (name) => {
    const { sessions, store } = await inState('deploying');
    const key = await rig.session('install');
    const tries = await Promise.allSettled([sessions.file(key, name, CALL), sessions.file(key, name, CALL)]);
    expect(tries.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    await expect(sessions.file(key, name, CALL)).rejects.toThrow(conflict(/issued only once/));
    expect(rig.rendered).toEqual([name]);
    const taken = (await store.auditEntries(0, 100)).filter(({ action }) => action === 'session.file');
    expect(taken).toMatchObject([{ after: { file: name } }]);
  });

  it.each<[SessionMode, LifecycleState]>([
    ['rescue', 'rescue'],
    ['commission', 'commissioning'],
    ['erase', 'releasing'],
    ['inspect', 'discovered'],
  ])('of mode %s gets no file of an installation', async (mode, state) => {
    const { sessions, store } = await inState(state);
    const key = await rig.session(mode);
    for (const name of ['user-data', 'meta-data', 'secrets.tar', 'disk-key', 'flake.tar']) {
      expect(await sessions.file(key, name, CALL)).toBeNull();
    }
    expect(rig.rendered).toEqual([]);
    expect((await store.auditEntries(0, 100)).map(({ action }) => action)).not.toContain('session.file');
  });

  it('serves other files any number of times', async () => {
    const { sessions } = await inState('deploying');
    const key = await rig.session('install');
    for (let times = 0; times < 2; times += 1) {
      expect(await sessions.file(key, 'meta-data', CALL)).toEqual({
        type: 'application/octet-stream',
        bytes: Buffer.from('the meta-data'),
      });
    }
    expect(await sessions.file(key, 'nothing', CALL)).toBeNull();
  });

  it.each<[SessionMode, LifecycleState, boolean, LifecycleState, string]>([
    ['install', 'deploying', true, 'enrolling', 'reboot'],
    ['install', 'deploying', false, 'failed', 'wait'],
    ['commission', 'commissioning', true, 'ready', 'power-off'],
    ['commission', 'commissioning', false, 'failed', 'wait'],
    ['erase', 'releasing', true, 'ready', 'power-off'],
    ['erase', 'releasing', false, 'releasing', 'wait'],
    ['rescue', 'rescue', true, 'rescue', 'reboot'],
    ['inspect', 'discovered', true, 'discovered', 'wait'],
  ])('%s from %s, ok: %s, leads to %s', async (mode, from, ok, to, next) => {
    const { sessions } = await inState(from);
    const key = await rig.session(mode);
    await sessions.facts(key, FACTS, CALL);
    expect(await sessions.outcome(key, { ok, step: 'some-step', reason: 'some reason' })).toEqual({ next });
    expect(await rig.state()).toMatchObject({
      state: to,
      ...(to === 'failed' && { failure: { reason: 'some-step: some reason' } }),
    });
    expect(await sessions.outcome(key, { ok: !ok })).toEqual({ next });
    expect(await rig.state()).toMatchObject({ state: to });
  });

  it('ends and moves its machine in one commit: when that fails, neither happens', async () => {
    const { sessions, store, machine } = await inState('deploying');
    const key = await rig.session('install');
    const { commit } = store;
    store.commit = () => Promise.reject(new ColdironError('store_unavailable', 'the disk is full'));
    await expect(sessions.outcome(key, { ok: true })).rejects.toMatchObject({ code: 'store_unavailable' });
    store.commit = commit;
    expect((await store.sessionsOf(machine.id, 1))[0]?.ended).toBeNull();
    expect(await rig.state()).toMatchObject({ state: 'deploying' });
    expect(await sessions.outcome(key, { ok: true })).toEqual({ next: 'reboot' });
    expect(await rig.state()).toMatchObject({ state: 'enrolling' });
    expect(await sessions.outcome(key, { ok: true })).toEqual({ next: 'reboot' });
  });

  it('does not commission a machine that reported no facts in it', async () => {
    const { sessions } = await inState('commissioning');
    const key = await rig.session('commission');
    expect(await sessions.outcome(key, { ok: true })).toEqual({ next: 'wait' });
    expect(await rig.state()).toMatchObject({
      state: 'failed',
      failure: { step: 'commission', reason: expect.stringContaining('no facts') },
    });
  });

  it('stores repeated facts once, and reports contradictions with the inventory', async () => {
    const { sessions, store, machine } = await inState('commissioning');
    const key = await rig.session('commission');
    const facts = { ...FACTS, system: { serial: 'another' } };
    for (let times = 1; times <= 3; times += 1) {
      rig.time.now += 1;
      await sessions.facts(key, { sequence: times, ...facts }, CALL);
    }
    expect(await store.factsOf(machine.id)).toMatchObject([{ facts }]);
    expect(await store.events({ kind: 'session.contradicted', limit: 10 })).toMatchObject([
      { data: { contradictions: [{ field: 'serial', declared: 'SN1', found: 'another' }] } },
    ]);
  });

  it('rejects a key that was never issued', async () => {
    const { sessions } = await inState('deploying');
    await expect(sessions.order(newSessionSecret().text)).rejects.toThrow(
      expect.objectContaining({ code: 'unauthenticated' }),
    );
  });
});
