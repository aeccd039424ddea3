import { afterEach, describe, expect, it } from 'vitest';
import { erasureSamples } from '../../../appliance/domain/erasure.ts';
import type { Json } from '../../../appliance/domain/event.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SessionMode, SessionSecret } from '../../../appliance/domain/session.ts';
import { erasedJson } from '../../../appliance/provisioning/orders/erasure-order.ts';
import { lifecycleIn, mac, NOW, transitionOf } from '../../store/samples.ts';
import { useScratchFolder } from '../../store/scratch-folder.ts';
import { writesTo } from '../../store/writes.ts';
import { CALL, SessionsRig } from './sessions-rig.ts';

const place = useScratchFolder();
let rig: SessionsRig;
afterEach(() => rig.store.close());

const BYTES = 64 * 1024 * 1024;
const DISK = { name: 'vda', serial: 'S-1', bytes: BYTES, method: 'discarded' };
const FACTS = { disks: [{ name: 'vda', serial: 'S-1', bytes: BYTES }], nics: [{ name: 'eno1', mac: mac(1) }] };

const now = async (): Promise<Machine> => (await rig.store.machine(rig.machine.id)) ?? expect.fail('no machine');
const events = async () => (await rig.store.events({ limit: 100 })).filter(({ kind }) => /erasure|erased/.test(kind));

/** A machine whose disk was erased by a session of its own. */
async function erased(): Promise<SessionsRig> {
  rig = await SessionsRig.open(place('coldiron.db'), 'releasing');
  await rig.sessions.outcome(await rig.session('erase'), { ok: true, erased: [DISK] });
  return rig;
}

async function moveTo(state: LifecycleState): Promise<void> {
  rig.time.now += 60_000;
  const lifecycle = lifecycleIn(state, { since: rig.time.now, deadline: NOW + 3_600_000 });
  await writesTo(rig.store).transition(transitionOf(await now(), state, { lifecycle }));
}

/** With the samples that the appliance would order. */
function sessionIn(mode: SessionMode): Promise<SessionSecret> {
  const disks = erasureSamples([DISK], (size) => Buffer.alloc(size, 7));
  return rig.session(mode, { mode, ...erasedJson(disks) } as Json);
}

const WHOLE = erasureSamples([DISK], (size) => Buffer.alloc(size, 7))[0]?.samples.reduce(
  (sum, [, each]) => sum + each,
  0,
);
const samples = (state: string, bytes = WHOLE, offset: number | null = null) => ({
  ...{ sequence: 5, step: 'verify-erasure', status: state === 'not-empty' ? 'failed' : 'done' },
  samples: [{ disk: 0, state, bytes, offset }],
});

describe('an erasure', () => {
  it('is recorded with the release: disks, method, session and its identity', async () => {
    await erased();
    const { hardware, lifecycle } = await now();
    expect(lifecycle.state).toBe('ready');
    const [session] = await rig.store.sessionsOf(rig.machine.id, 1);
    expect(hardware.erasure).toEqual({
      ...{ at: rig.time.now, session: session?.id, identity: session?.identity?.level },
      ...{ disks: [DISK], check: null, overwrittenAt: null },
    });
  });

  it('is not recorded when it failed, or says nothing about disks', async () => {
    rig = await SessionsRig.open(place('coldiron.db'), 'releasing');
    await rig.sessions.outcome(await rig.session('erase'), { ok: false, step: 'erase-vda', erased: [DISK] });
    expect((await now()).hardware.erasure).toBeUndefined();
  });

  it('is verified by the next commissioning, with the number of bytes', async () => {
    await erased();
    await moveTo('commissioning');
    const key = await sessionIn('commission');
    await rig.sessions.step(key, samples('empty'), CALL);
    expect((await now()).hardware.erasure?.check).toMatchObject({
      ...{ result: 'empty', bytes: WHOLE, problems: [], mode: 'commission', at: rig.time.now },
    });
    expect(await events()).toMatchObject([{ kind: 'hardware.erasure-verified', data: { bytes: WHOLE, disks: 1 } }]);
    await rig.sessions.facts(key, FACTS, CALL);
    await rig.sessions.outcome(key, { ok: true });
    // What was recorded about the hardware keeps the erasure.
    expect(await now()).toMatchObject({
      lifecycle: { state: 'ready' },
      hardware: { erasure: { check: { result: 'empty' } } },
    });
  });

  it.each([
    ['commission', 'commissioning'],
    ['install', 'deploying'],
  ] as const)('that left data quarantines the node in the next session: %s', async (mode, state) => {
    await erased();
    await moveTo(state);
    const key = await sessionIn(mode);
    const found = rig.sessions.step(key, samples('not-empty', 4096, 512), CALL);
    await expect(found).rejects.toMatchObject({
      code: 'session_over',
      message: expect.stringMatching(
        /erase-not-verified: vda \(serial S-1\) holds data at byte 512, although it was reported as erased at/,
      ),
    });
    expect(await now()).toMatchObject({
      lifecycle: { state: 'quarantined', note: expect.stringContaining('erase-not-verified') },
      hardware: { erasure: { check: { result: 'not-empty', bytes: 4096 } } },
    });
    expect(await events()).toMatchObject([{ kind: 'hardware.not-erased' }]);
    // Its session has failed, whatever it says afterwards.
    expect(await rig.sessions.outcome(key, { ok: true })).toEqual({ next: 'wait' });
    expect((await now()).lifecycle.state).toBe('quarantined');
  });

  it('that could not be read completely is a warning, and the work goes on', async () => {
    await erased();
    await moveTo('commissioning');
    await rig.sessions.step(await sessionIn('commission'), samples('unreadable', 0, 512), CALL);
    expect(await events()).toMatchObject([{ kind: 'hardware.erasure-unverified' }]);
    expect((await now()).lifecycle.state).toBe('commissioning');
  });

  it('is void once a session may write to the disks, but that session still verifies it', async () => {
    await erased();
    await moveTo('deploying');
    const key = await sessionIn('install');
    expect((await now()).hardware.erasure).toMatchObject({ overwrittenAt: rig.time.now, check: null });
    await rig.sessions.step(key, samples('empty'), CALL);
    expect((await now()).hardware.erasure).toMatchObject({ overwrittenAt: rig.time.now, check: { result: 'empty' } });
  });

  it('is not verified by samples that nobody ordered', async () => {
    await erased();
    await moveTo('commissioning');
    await rig.sessions.step(await rig.session('commission'), samples('not-empty', 1, 1), CALL);
    expect((await now()).hardware.erasure?.check).toBeNull();
    expect((await now()).lifecycle.state).toBe('commissioning');
  });

  it.each([
    ['a state that does not exist', { disk: 0, state: 'clean', bytes: 1 }],
    ['a negative disk', { disk: -1, state: 'empty', bytes: 1 }],
    ['no number of bytes', { disk: 0, state: 'empty' }],
  ])('is not verified by %s', async (_sentence, sample) => {
    await erased();
    await moveTo('commissioning');
    const body = { ...samples('empty'), samples: [sample] };
    await expect(rig.sessions.step(await sessionIn('commission'), body, CALL)).rejects.toMatchObject({
      code: 'invalid_request',
    });
  });
});
