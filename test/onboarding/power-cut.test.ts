// The power of a machine fails at each stage of its deployment. Every time it either goes on by itself when it is switched on again,
// or says how far it had come, and the next deployment works. One machine, from one stage to the next; what comes after the
// installation is cut in life-bios.test.ts and power-cut-enrollment.test.ts. Needs root.

import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { withTinyProfiles } from './faults-images.ts';
import { TroubledMachine } from './faults-machine.ts';
import { OnboardingRig } from './rig.ts';

vi.setConfig({ testTimeout: 1_500_000, hookTimeout: 900_000 });

const NODE = 'node01';

const NOTHING_HEARD = /^restarted before it was installed: nothing was heard of its service OS$/;
const heard = (...steps: readonly string[]): RegExp =>
  new RegExp(`^restarted before it was installed: the last that was heard was (${steps.join('|')})`);

/** Where something has begun that nobody can take up again: it is failed as soon as the machine is seen to start over. */
const BROKEN_OFF: readonly (readonly [when: string, screen: string, reason: RegExp])[] = [
  ['has its script, which used up what was armed', 'starts the installer of', NOTHING_HEARD],
  ['starts the service OS, and has not shown its ticket', 'coldiron: service OS on', NOTHING_HEARD],
  ['rehearses its network', 'coldiron: rehearse: trying', heard('inspect \\(done', 'rehearse \\(started')],
  ['has written its disk', 'coldiron: grow: giving', heard('verify-image \\(done', 'grow \\(started')],
  ['sets its boot entry', 'coldiron: boot-entry: ', heard('seed \\(done', 'boot-entry \\(started')],
];

describe('a machine that loses its power while it is deployed', () => {
  let rig: OnboardingRig;
  let machine: TroubledMachine;

  beforeAll(async () => {
    rig = await OnboardingRig.start({
      firmwares: ['bios-ipxe-rom'],
      machines: (each) => ({ ...each, first: 'network' }),
      inventory: async (written) => [(await withTinyProfiles(written)).file],
    });
    machine = new TroubledMachine(rig, NODE);
    await machine.put('ready');
  });
  afterEach(() => machine?.powerOff());
  afterAll(() => rig?.stop());

  const deploy = (profile: string) => rig.json('deploy', NODE, '--yes', '--profile', profile);

  const failsOnRestart = async (reason: RegExp): Promise<void> => {
    expect(await rig.node(NODE)).toMatchObject({ state: 'deploying' });
    await machine.powerOn();
    await machine.shows(/boots from its own disk/);
    await machine.until(async () => (await rig.node(NODE)).state === 'failed', 'the restart was to be noticed');
    expect((await rig.node(NODE)).failure).toEqual({ step: 'deploy', reason: expect.stringMatching(reason) });
  };

  it('goes on by itself when it had asked for an address, and when it had its loader', async () => {
    await machine.cutWhile(() => deploy('tiny'), '"msg":"dhcp ack', rig.applianceLog);
    expect(await rig.node(NODE)).toMatchObject({ state: 'deploying', intent: { consumed_at: null } });
    await machine.cutWhile(() => machine.powerOn(), 'boot\\.ipxe');
    expect(await rig.node(NODE)).toMatchObject({ state: 'deploying', intent: { consumed_at: null } });
    await machine.cutWhile(() => machine.powerOn(), 'session open');
    await failsOnRestart(/its service OS came up|inspect/);
  });

  it.each(BROKEN_OFF)(
    'says how far it came when it was cut as it %s, and can be deployed again',
    async (_, screen, reason) => {
      await machine.cutWhile(() => deploy('tiny'), screen);
      await failsOnRestart(reason);
    },
  );

  it('says how much was written when it was cut in the middle of that', async () => {
    const moment = join(rig.state, 'moment');
    const before = await machine.newest();
    const writing = async (): Promise<void> => {
      await deploy('long');
      await machine.happens(
        ({ kind, data }) => kind === 'session.step' && data.step === 'write-image' && Number(data.percent) > 0,
        before,
      );
      await appendFile(moment, 'now\n');
    };
    await machine.cutWhile(writing, 'now', moment);
    await failsOnRestart(/the last that was heard was write-image \(progress, \d+ %: .* written\)/);
    expect(await machine.diskBeginsEmpty()).toBe(true);
  });

  it('is installed by the next deployment, when nothing happens to it', async () => {
    await deploy('tiny');
    await rig.waitForState(NODE, 'enrolling', 900_000);
    expect(await machine.diskBeginsEmpty()).toBe(false);
  });
});
