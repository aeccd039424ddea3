import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SECOND } from '../../../appliance/domain/instant.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import type { SessionSecret } from '../../../appliance/domain/session.ts';
import { failOnRestart } from '../../../appliance/provisioning/sessions/session-watch.ts';
import { commandsOf } from '../../machines/commands-of.ts';
import { lifecycleIn, mac, NOW, newEvent, transitionOf } from '../../store/samples.ts';
import { writesTo } from '../../store/writes.ts';
import { CALL, SessionsRig } from './sessions-rig.ts';

const UUID = '4c4c4544-0042-3510-8054-b4c04f564433';
const SELF = { mac: mac(1), uuid: UUID, serial: 'SN1', macs: [mac(1), mac(2)], tpm: null };
const FACTS = { system: { serial: 'SN1', uuid: UUID }, disks: [], nics: [{ name: 'eth0', mac: mac(1) }] };

describe('the identity of sessions', () => {
  let folder: string;
  let rig: SessionsRig;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'coldiron-identity-'));
  });
  afterEach(async () => {
    await rig.store.close();
    await rm(folder, { recursive: true });
  });

  const open = async (state: LifecycleState): Promise<void> => {
    rig = await SessionsRig.open(join(folder, 'store.db'), state);
    rig.profile = { ...rig.profile, identity: 'bound' };
  };
  const machine = async () => {
    const found = await rig.store.machine(rig.machine.id);
    if (!found) throw new Error('the machine is in the store');
    return found;
  };
  const move = async (state: LifecycleState): Promise<void> => {
    const lifecycle = lifecycleIn(state, { since: rig.time.now, deadline: rig.time.now + 3_600_000 });
    await writesTo(rig.store).transition(transitionOf(await machine(), state, { lifecycle }));
    rig.time.now += SECOND;
  };
  const kinds = async () => (await rig.store.events({ machine: rig.machine.id, limit: 100 })).map(({ kind }) => kind);
  const keyOf = (answer: unknown): SessionSecret => (answer as { session: SessionSecret }).session;
  const start = async (mode: 'commission' | 'install' | 'erase', body: object) =>
    rig.sessions.open(await rig.ticket(mode), body, CALL);

  const commissioned = async (): Promise<void> => {
    await open('commissioning');
    const key = keyOf(await start('commission', SELF));
    await rig.sessions.facts(key, FACTS, CALL);
    await rig.sessions.outcome(key, { ok: true });
    await move('deploying');
  };

  it('starts with commissioning, which records the hardware', async () => {
    await commissioned();
    expect((await machine()).hardware).toEqual({
      bound: { uuid: UUID, serial: 'SN1', macs: [mac(1), mac(2)], tpm: null, boundAt: NOW + 1000 },
      refused: null,
    });
    expect(await kinds()).toContain('hardware.bound');
  });

  it('is bound when the recorded hardware opens the session, and is stored with it', async () => {
    await commissioned();
    expect(await start('install', SELF)).toMatchObject({ identity: 'bound', session: expect.any(String) });
    const [session] = await rig.store.sessionsOf(rig.machine.id, 1);
    expect(session?.identity).toMatchObject({ level: 'bound', key: 'clear', shown: { serial: 'SN1' } });
  });

  it.each(['install', 'erase'] as const)(
    'of other hardware quarantines the node and says what differs: %s',
    async (mode) => {
      await commissioned();
      if (mode === 'erase') await move('releasing');
      await expect(start(mode, { ...SELF, serial: 'SN2' })).rejects.toThrow(
        'the machine is not the hardware that was recorded when it was commissioned: serial number SN2 instead of SN1',
      );
      const { lifecycle, hardware } = await machine();
      expect(lifecycle).toMatchObject({ state: 'quarantined', note: expect.stringContaining('SN2 instead of SN1') });
      expect(hardware.refused).toMatchObject({ serial: 'SN2' });
      expect(await kinds()).toContain('hardware.differs');
    },
  );

  it('of a machine that was commissioned by an older version rests on its facts', async () => {
    await open('deploying');
    await writesTo(rig.store).putFacts(
      rig.machine.id,
      { facts: FACTS, at: NOW },
      newEvent('session.facts', { machine: rig.machine.id }),
    );
    await expect(start('install', { ...SELF, serial: 'SN2' })).rejects.toThrow('SN2 instead of SN1');
  });

  it('of a machine that was never commissioned is not enough for an installation', async () => {
    await open('deploying');
    await expect(start('install', SELF)).rejects.toThrow('its hardware was never recorded: commission it first');
    expect((await machine()).lifecycle.state).toBe('deploying');
  });

  it('that is only bound is doubted when the machine boots again after it got its secrets', async () => {
    await commissioned();
    const key = keyOf(await start('install', SELF));
    await rig.sessions.file(key, 'user-data', CALL);
    const intended = await machine();
    failOnRestart(
      rig.store,
      commandsOf(rig.store, () => rig.time.now),
      () => rig.profile.identity,
      () => rig.time.now,
      SILENT,
    )({
      ...intended,
    });
    await expect.poll(async () => (await machine()).lifecycle.state).toBe('quarantined');
    expect((await machine()).lifecycle.note).toContain('another machine has its secrets');
    expect(await kinds()).toContain('hardware.twin');
  });

  it('is no matter when the machine boots again before it got its secrets', async () => {
    await commissioned();
    await start('install', SELF);
    failOnRestart(
      rig.store,
      commandsOf(rig.store, () => rig.time.now),
      () => rig.profile.identity,
      () => rig.time.now,
      SILENT,
    )(await machine());
    await expect.poll(async () => (await machine()).lifecycle.state).toBe('failed');
  });

  it('that is asserted is what the profile asked for: a restart is a failure', async () => {
    await commissioned();
    rig.profile = { ...rig.profile, identity: 'asserted' };
    const key = keyOf(await start('install', SELF));
    await rig.sessions.file(key, 'user-data', CALL);
    failOnRestart(
      rig.store,
      commandsOf(rig.store, () => rig.time.now),
      () => rig.profile.identity,
      () => rig.time.now,
      SILENT,
    )(await machine());
    await expect.poll(async () => (await machine()).lifecycle.state).toBe('failed');
  });

  it('is refused with the reason for a TPM that sends nonsense, where the profile requires one', async () => {
    await commissioned();
    rig.profile = { ...rig.profile, identity: 'tpm' };
    const tpm = { ek: [{ public: 'AAAA', certificate: null }], ak: 'AAAA', quote: null };
    await expect(start('install', { ...SELF, tpm })).rejects.toThrow(
      /the TPM of this machine cannot be used: endorsement key 1: /,
    );
  });
});

const SILENT = { warn: () => undefined, error: () => undefined };
