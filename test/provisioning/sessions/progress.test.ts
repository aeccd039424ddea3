// Progress that stands still, over a real store and with a clock that the test moves.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MINUTE, SECOND } from '../../../appliance/domain/instant.ts';
import type { SessionSecret } from '../../../appliance/domain/session.ts';
import { lastHeardReader } from '../../../appliance/provisioning/sessions/session-watch.ts';
import { stallWatch } from '../../../appliance/provisioning/sessions/stall-watch.ts';
import { CALL, SessionsRig } from './sessions-rig.ts';

const MEBIBYTE = 1024 * 1024;

describe('the progress of a step', () => {
  let folder: string;
  let rig: SessionsRig;
  let key: SessionSecret;
  let sequence = 0;
  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'coldiron-progress-'));
    rig = await SessionsRig.open(join(folder, 'coldiron.db'), 'deploying');
    key = await rig.session('install');
    sequence = 0;
  });
  afterEach(async () => {
    await rig.store.close();
    rmSync(folder, { recursive: true });
  });

  const report = (bytes: number | null, more: object = {}): Promise<void> =>
    rig.sessions.step(
      key,
      { sequence: ++sequence, step: 'write-image', status: 'progress', percent: 7, message: 'x', bytes, ...more },
      CALL,
    );
  /** A report every 3 seconds, as the service OS sends them. */
  const reportFor = async (time: number, bytes: () => number | null, more: object = {}): Promise<void> => {
    for (const end = rig.time.now + time; rig.time.now < end; rig.time.now += 3 * SECOND) await report(bytes(), more);
  };
  const look = () => stallWatch(rig.store, () => rig.time.now)([rig.machine]);
  const events = async (kind: string) =>
    (await rig.store.events({ machine: rig.machine.id, kind, limit: 100 })).map(({ data }) => data);
  const stalled = () => events('session.stalled');

  it('that repeats the same number is recorded once as standing still, with the time since when', async () => {
    const since = rig.time.now;
    await reportFor(2 * MINUTE, () => 7 * MEBIBYTE);
    expect(await stalled()).toEqual([]);
    await reportFor(10 * MINUTE, () => 7 * MEBIBYTE);
    await look();
    expect(await stalled()).toEqual([
      expect.objectContaining({ mode: 'install', step: 'write-image', percent: 7, bytes: 7 * MEBIBYTE, since }),
    ]);
    expect(await lastHeardReader(rig.store, () => rig.time.now)(rig.machine)).toMatch(
      /write-image \(progress, 7 %: x\), \d s ago; it stood still since 2/,
    );
  });

  it('is recorded when it goes on, and again when it stops again', async () => {
    await reportFor(3 * MINUTE, () => 7);
    await report(7 + 2 * MEBIBYTE);
    expect(await events('session.moving')).toEqual([{ mode: 'install', step: 'write-image', seconds: 180 }]);
    await reportFor(3 * MINUTE, () => 7 + 2 * MEBIBYTE);
    expect(await stalled()).toHaveLength(2);
    await report(null, { step: 'verify-image', status: 'started' });
    expect(await events('session.moving')).toHaveLength(2);
  });

  it('that stops together with the reports is found by a look, once: a machine without power reports nothing', async () => {
    await report(7);
    const heard = rig.time.now;
    rig.time.now += 2 * MINUTE - 1;
    await look();
    expect(await stalled()).toEqual([]);
    rig.time.now += 1;
    await look();
    await look();
    expect(await stalled()).toEqual([expect.objectContaining({ since: heard, heard_at: heard })]);
  });

  it('of a disk that trickles stands still: 2 kB a second finish nothing', async () => {
    let bytes = 0;
    await reportFor(4 * MINUTE, () => (bytes += 6000), { percent: 0 });
    expect(await stalled()).toHaveLength(1);
  });

  it.each([
    ['a slow link', 3 * SECOND * 20],
    ['a large disk, whose percentage stands still for minutes', MEBIBYTE * 600],
  ])('of %s moves', async (_, each) => {
    let bytes = 0;
    await reportFor(10 * MINUTE, () => (bytes += each));
    await look();
    expect(await stalled()).toEqual([]);
  });

  it('is not judged where a step counts no bytes', async () => {
    await reportFor(10 * MINUTE, () => null);
    rig.time.now += 10 * MINUTE;
    await look();
    expect(await stalled()).toEqual([]);
  });

  it('of a session that has ended, or in a later visit of the state, is not looked at', async () => {
    await report(7);
    rig.time.now += 3 * MINUTE;
    await stallWatch(
      rig.store,
      () => rig.time.now,
    )([
      { ...rig.machine, lifecycle: { ...rig.machine.lifecycle, since: rig.time.now } },
      { ...rig.machine, lifecycle: { ...rig.machine.lifecycle, state: 'failed' } },
    ]);
    await rig.sessions.outcome(key, { ok: false, step: 'write-image', reason: 'smoke' });
    await look();
    expect(await stalled()).toEqual([]);
  });
});
