// NixOS installations that the appliance performs itself, from the order to the lifecycle of the machine.

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { isAlive, pidsOf, steps } from '../installers/nixos/fake-anywhere.ts';
import { hostKey, needSshd } from '../installers/nixos/real-sshd.ts';
import { PushRig } from './push-rig.ts';

beforeAll(() => needSshd());

const stateOf = async (rig: PushRig): Promise<string> => (await rig.machine()).lifecycle.state;
const failureOf = async (rig: PushRig) => (await rig.machine()).lifecycle.failure;
const ended = (rig: PushRig) => expect.poll(() => stateOf(rig)).not.toBe('deploying');

/** Runs until it is killed. */
const FOR_EVER = `${steps(0, 3)}\nsleep 1000 & echo $! >> "$record/pids"; wait`;
const partitioning = (rig: PushRig) => expect.poll(() => rig.steps()).toContain('partition started');

describe('a push installation', () => {
  it('is done by the appliance, which reports steps and outcome to the session of the installer', async () => {
    const rig = await PushRig.open(steps(0, 9));
    const appliance = await rig.appliance();
    const installer = await rig.installer(appliance);
    expect(installer.order).toMatchObject({ way: 'push', authorized_keys: [expect.stringMatching(/^ssh-ed25519 /)] });
    await rig.sshd(installer.order.authorized_keys);
    await installer.waits();
    await ended(rig);
    expect(await failureOf(rig)).toBeNull();
    expect(await stateOf(rig)).toBe('enrolling');
    expect(await rig.steps()).toEqual(
      expect.arrayContaining(['await-push started', 'partition started', 'install started', 'reboot done']),
    );
    const [session] = await rig.store.sessionsOf((await rig.machine()).id, 1);
    expect(session?.ended).toMatchObject({ how: 'succeeded' });
    const given = readFileSync(join(rig.folder, 'arguments'), 'utf8');
    expect(given).toMatch(/--phases\ndisko,install,reboot\n[\s\S]*root@127\.0\.0\.1/);
    // The issued files are recorded, and the token is in no argument.
    expect(rig.given).toContain('etc/coldiron/token');
    expect(given).not.toContain('one-time token');
    expect(rig.leftovers()).toEqual([]);
  });

  it('fails at a machine with another host key than its installer reported', async () => {
    const rig = await PushRig.open(steps(0, 9));
    const installer = await rig.installer(await rig.appliance());
    await rig.sshd(installer.order.authorized_keys);
    await installer.waits([hostKey(rig.folder, 'other').line]);
    await ended(rig);
    expect(await failureOf(rig)).toMatchObject({
      step: 'deploy',
      reason: expect.stringContaining('another host key than the installer reported'),
    });
    expect(existsSync(join(rig.folder, 'arguments'))).toBe(false);
  });

  it('ends with all its processes when the machine leaves the state, which does not change again', async () => {
    const rig = await PushRig.open(FOR_EVER);
    const installer = await rig.installer(await rig.appliance());
    await rig.sshd(installer.order.authorized_keys);
    await installer.waits();
    await partitioning(rig);
    await rig.request('quarantine');
    await expect.poll(() => pidsOf(rig.folder).filter(isAlive)).toEqual([]);
    await expect.poll(() => rig.leftovers()).toEqual([]);
    expect(await stateOf(rig)).toBe('quarantined');
  });

  it('ends with all its processes when the appliance stops, and is reported as failed', async () => {
    const rig = await PushRig.open(FOR_EVER);
    const appliance = await rig.appliance();
    const installer = await rig.installer(appliance);
    await rig.sshd(installer.order.authorized_keys);
    await installer.waits();
    await partitioning(rig);
    await appliance.stop();
    expect(pidsOf(rig.folder).filter(isAlive)).toEqual([]);
    expect(await failureOf(rig)).toMatchObject({
      step: 'deploy',
      reason: expect.stringMatching(/^partition: the appliance was stopped/),
    });
    expect(rig.leftovers()).toEqual([]);
  });

  it('fails at once, with the reason, where the appliance was restarted after the order was issued', async () => {
    const rig = await PushRig.open(steps(0, 9));
    const before = await rig.appliance();
    const installer = await rig.installer(before);
    await before.stop();
    const after = await rig.appliance();
    await installer.waits(undefined, undefined, after);
    await ended(rig);
    expect(await failureOf(rig)).toMatchObject({ reason: expect.stringContaining('the appliance was restarted') });
  });

  it('fails when the appliance restarts after it was killed during the push', async () => {
    const rig = await PushRig.open(steps(0, 9));
    const installer = await rig.installer(await rig.appliance());
    await installer.reports('partition');
    await rig.appliance();
    expect(await failureOf(rig)).toMatchObject({
      step: 'deploy',
      reason: expect.stringMatching(/^partition: the appliance was restarted/),
    });
  });

  it('fails at once when the address of the installer is unknown', async () => {
    const rig = await PushRig.open(steps(0, 9));
    const installer = await rig.installer(await rig.appliance());
    await installer.waits(undefined, null);
    await ended(rig);
    expect(await failureOf(rig)).toMatchObject({
      reason: expect.stringContaining('the address of its installer is unknown'),
    });
  });
});
