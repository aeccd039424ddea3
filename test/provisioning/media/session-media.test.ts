// Media over a real store, with drives that obey or fail as the test says, and a clock that the test moves.

import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { mediumNameIn } from '../../../appliance/boot/boot-paths.ts';
import { HOUR, MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import type { LifecycleState } from '../../../appliance/domain/lifecycle.ts';
import { mustParse, parsed } from '../../../appliance/domain/parsed.ts';
import { type DriveOutcome, SessionMedia } from '../../../appliance/provisioning/media/session-media.ts';
import { lifecycleIn, mac, transitionOf } from '../../store/samples.ts';
import { writesTo } from '../../store/writes.ts';
import { sessionProofs } from '../sessions/session-proofs.ts';
import { CALL, SessionsRig } from '../sessions/sessions-rig.ts';

const DONE: DriveOutcome = { outcome: 'done' };
const BMC = mustParse(parseIpv4('10.2.10.1'));
const OTHER = mustParse(parseIpv4('10.2.10.9'));
const ORIGIN = 'http://10.2.10.200:8080';

describe('the medium of a network boot', () => {
  let folder: string;
  let rig: SessionsRig;
  let media: SessionMedia;
  /** The image in the drive. */
  let inDrive: string | null;
  let insert: DriveOutcome;
  let eject: DriveOutcome;
  let ejects: number;
  let problem: string | null;
  let idle: number;

  const open = async (): Promise<SessionMedia> => {
    const opened = await SessionMedia.open({
      store: rig.store,
      drives: {
        problem: () => problem,
        insert: async (_machine, image, replaces) => {
          if (inDrive !== null && !replaces(inDrive)) return { outcome: 'failed', reason: 'in use', unchanged: true };
          if (insert.outcome === 'done' || (insert.outcome === 'failed' && !insert.unchanged)) inDrive = image;
          return 'reason' in insert ? { ...insert, reason: `${insert.reason} ${image}` } : insert;
        },
        eject: async (_machine, which) => {
          ejects += 1;
          if (eject.outcome === 'done' && inDrive !== null && which(inDrive)) inDrive = null;
          return 'reason' in eject ? { ...eject, reason: `${eject.reason} ${inDrive}` } : eject;
        },
      },
      ...sessionProofs(() => rig.time.now),
      required: () => 'bound',
      now: () => rig.time.now,
      log: { error: (fields) => expect(fields).toBe('no error') },
    });
    opened.serveWith({
      openFor: async () => parsed(ORIGIN),
      idle: async () => {
        idle += 1;
      },
    });
    return opened;
  };

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coldiron-media-'));
    rig = await SessionsRig.open(join(folder, 'store.db'), 'commissioning');
    [inDrive, insert, eject, ejects, problem, idle] = [null, DONE, DONE, 0, null, 0];
    media = await open();
  });
  afterEach(async () => {
    media.stop();
    await rig.store.close();
    await rm(folder, { recursive: true });
  });

  const events = async () =>
    (await rig.store.events({ machine: rig.machine.id, limit: 100 })).filter(({ kind }) => kind.startsWith('medium.'));
  const kinds = async () => (await events()).map(({ kind }) => kind);
  const place = () => media.place(rig.machine, 'call-1');
  const name = () => mediumNameIn(new URL(inDrive ?? 'http://x/').pathname) ?? '';
  const move = async (state: LifecycleState): Promise<void> => {
    const current = await rig.store.machine(rig.machine.id);
    if (!current) throw new Error('the machine is in the store');
    const lifecycle = lifecycleIn(state, { since: rig.time.now, deadline: rig.time.now + HOUR });
    await writesTo(rig.store).transition(transitionOf(current, state, { lifecycle }));
  };

  it('is inserted, and only its BMC can fetch it', async () => {
    await place();
    expect(inDrive).toMatch(/^http:\/\/10\.2\.10\.200:8080\/boot\/medium\/[\w-]{43}\.iso$/);
    expect(await media.fetch(name(), OTHER, true)).toEqual({ outcome: 'refused' });
    expect(await media.fetch(name(), null, true)).toEqual({ outcome: 'refused' });
    expect(await media.fetch('A'.repeat(43), BMC, true)).toEqual({ outcome: 'unknown' });
    expect((await rig.store.mediumOf(rig.machine.id))?.fetchedAt).toBeNull();
    expect((await media.fetch(name(), BMC, false)).outcome).toBe('image');
    expect((await rig.store.mediumOf(rig.machine.id))?.fetchedAt).toBeNull();
    expect((await media.fetch(name(), BMC, true)).outcome).toBe('image');
    expect((await media.fetch(name(), BMC, true)).outcome).toBe('image');
    expect(await kinds()).toEqual(['medium.inserted', 'medium.refused', 'medium.refused', 'medium.fetched']);
  });

  it('is not served without end', async () => {
    await place();
    let outcome = 'image';
    for (let requests = 0; requests < 3000 && outcome === 'image'; requests += 1) {
      outcome = (await media.fetch(name(), BMC, false)).outcome;
    }
    expect(outcome).toBe('too-often');
  });

  it.each<LifecycleState>(['ready', 'failed', 'quarantined'])('is ejected when the machine is %s', async (state) => {
    await place();
    const path = name();
    await media.look();
    expect(inDrive).not.toBeNull();
    await move(state);
    await expect.poll(() => inDrive).toBeNull();
    await expect.poll(kinds).toEqual(['medium.inserted', 'medium.ejected']);
    expect(await media.fetch(path, BMC, true)).toEqual({ outcome: 'unknown' });
    expect(idle).toBe(1);
  });

  it('is ejected at its deadline, although nothing else happens', async () => {
    await place();
    rig.time.now += 61 * MINUTE;
    await media.look();
    expect(inDrive).toBeNull();
  });

  it('of an earlier process is ejected by the next one', async () => {
    await place();
    media.stop();
    await move('failed');
    expect(inDrive).not.toBeNull();
    media = await open();
    await media.look();
    expect(inDrive).toBeNull();
  });

  it('is ejected when its secret has opened a session, and opens no other one', async () => {
    await place();
    await media.fetch(name(), BMC, true);
    const medium = await rig.store.mediumOf(rig.machine.id);
    const hash = sessionProofs(() => 0).seeds.mediumHash(medium?.salt ?? '');
    const self = { mac: mac(1), macs: [mac(1)], tpm: null, nonce: 'c'.repeat(64), media: hash };
    const ticket = await rig.ticket('commission');
    expect(await rig.sessions.open(ticket, self, CALL)).toMatchObject({ identity: 'media' });
    await expect.poll(() => inDrive).toBeNull();
    // The reply was lost.
    expect(await rig.sessions.open(ticket, self, CALL)).toMatchObject({ identity: 'media' });
    const again = await rig.ticket('commission');
    await expect(rig.sessions.open(again, self, CALL)).rejects.toThrow('has opened a session before');
    await expect(rig.sessions.open(again, { ...self, media: null }, CALL)).rejects.toThrow('opened a session before');
  });

  it('replaces one of an earlier attempt, and nothing else', async () => {
    await place();
    const first = inDrive;
    await place();
    expect(inDrive).not.toBe(first);
    inDrive = 'http://10.2.10.7/firmware-update.iso';
    await place();
    expect(inDrive).toBe('http://10.2.10.7/firmware-update.iso');
    expect((await events()).at(-1)).toMatchObject({ kind: 'medium.failed', data: { reason: 'in use' } });
    await move('failed');
    await media.look();
    expect(inDrive).toBe('http://10.2.10.7/firmware-update.iso');
  });

  it('is an event, and no obstacle, where there is no drive', async () => {
    problem = 'IPMI has no virtual drives';
    await place();
    expect(await events()).toMatchObject([{ kind: 'medium.unavailable', data: { reason: problem } }]);
    problem = null;
    insert = { outcome: 'unsupported', reason: 'no drives' };
    await place();
    expect(await kinds()).toEqual(['medium.unavailable', 'medium.unavailable']);
    expect(await rig.store.unendedMedia()).toEqual([]);
  });

  it('that may have been inserted is ejected, and the events do not contain its URL', async () => {
    insert = { outcome: 'failed', reason: 'the BMC shows', unchanged: false };
    await place();
    expect(inDrive).toBeNull();
    expect(await kinds()).toEqual(['medium.failed', 'medium.ejected']);
    eject = { outcome: 'failed', reason: 'no reply for', unchanged: false };
    await place();
    expect(await kinds()).toEqual(['medium.failed', 'medium.ejected', 'medium.failed', 'medium.not-ejected']);
    expect(JSON.stringify(await events())).not.toMatch(/medium\/[\w-]/);
  });

  it('that cannot be ejected is tried again with increasing pauses, and given up in the end', async () => {
    await place();
    eject = { outcome: 'failed', reason: 'no reply', unchanged: false };
    await move('failed');
    await expect.poll(() => ejects).toBe(1);
    await media.look();
    expect(ejects).toBe(1);
    rig.time.now += 16 * SECOND;
    await media.look();
    expect(ejects).toBe(2);
    rig.time.now += 16 * SECOND;
    await media.look();
    expect(ejects).toBe(2);
    for (let tries = 0; tries < 40; tries += 1) {
      rig.time.now += 16 * MINUTE;
      await media.look();
    }
    expect(ejects).toBe(31);
    expect((await events()).map(({ kind, data }) => [kind, (data as { given_up?: boolean }).given_up])).toEqual([
      ['medium.inserted', undefined],
      ['medium.not-ejected', false],
      ['medium.not-ejected', true],
    ]);
    expect(await rig.store.unendedMedia()).toEqual([]);
  });

  it('of a removed machine is given up: its BMC may belong to another one', async () => {
    await place();
    await move('removed');
    await expect.poll(async () => (await events()).length).toBe(2);
    expect(ejects).toBe(0);
    expect((await events()).at(-1)).toMatchObject({ kind: 'medium.not-ejected', data: { given_up: true } });
  });
});
