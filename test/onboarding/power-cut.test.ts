// The power of a machine fails at each stage of its deployment. Each time it either continues by itself when it is switched on again,
// or reports its progress, and the next deployment works. One machine for all stages, and the appliance's power fails too; power
// cuts after the installation are in life-bios.test.ts and power-cut-enrollment.test.ts. Needs root.

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { LAST_RESORT_MS } from '../lab/rack/fair-clock.ts';
import { BOOTED } from '../lab/rack/service-os-image.ts';
import { withTinyProfiles } from './faults-images.ts';
import { TroubledMachine } from './faults-machine.ts';
import { OnboardingRig } from './rig.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS, hookTimeout: LAST_RESORT_MS });

const NODE = 'node01';
const STARTED = new RegExp(BOOTED);

const NO_REPORT = /^restarted before it was installed: nothing was heard of its service OS$/;
const lastReport = (...steps: readonly string[]): RegExp =>
  new RegExp(`^restarted before it was installed: the last that was heard was (${steps.join('|')})`);

/** Stages that cannot be resumed: the deployment fails as soon as the machine boots again. */
const INTERRUPTED: readonly (readonly [when: string, screen: string, reason: RegExp])[] = [
  ['has its script, which consumed the intent', 'starts the installer of', NO_REPORT],
  ['starts the service OS, and has not used its ticket', 'coldiron: service OS on', NO_REPORT],
  ['rehearses its network', 'coldiron: rehearse: testing', lastReport('inspect \\(done', 'rehearse \\(started')],
  ['has written its disk', 'coldiron: grow: growing', lastReport('verify-image \\(done', 'grow \\(started')],
  ['sets its boot entry', 'coldiron: boot-entry: ', lastReport('seed \\(done', 'boot-entry \\(started')],
];

describe('a machine that loses its power during its deployment', () => {
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

  it('continues by itself after its DHCP request, and after it had its loader', async () => {
    await machine.cutWhile(() => deploy('tiny'), '"msg":"dhcp ack', rig.applianceLog);
    expect(await rig.node(NODE)).toMatchObject({ state: 'deploying', intent: { consumed_at: null } });
    await machine.cutWhile(() => machine.powerOn(), 'boot\\.ipxe');
    expect(await rig.node(NODE)).toMatchObject({ state: 'deploying', intent: { consumed_at: null } });
    await machine.cutWhile(() => machine.powerOn(), 'session open');
    await failsOnRestart(/its service OS came up|inspect/);
  });

  it.each(INTERRUPTED)(
    'reports its progress when it was cut as it %s, and can be deployed again',
    async (_, screen, reason) => {
      await machine.cutWhile(() => deploy('tiny'), screen);
      await failsOnRestart(reason);
    },
  );

  it('reports how much was written when it was cut while writing', async () => {
    await machine.whileWriting(
      () => deploy('long'),
      () => machine.powerOff(),
    );
    await failsOnRestart(/the last that was heard was write-image \(progress, \d+ %: .* written\)/);
    expect(await machine.diskBeginsEmpty()).toBe(true);
  });

  it('is installed by the next deployment, although the appliance is killed and restarted meanwhile', async () => {
    await machine.whileWriting(
      () => deploy('long'),
      async () => {
        await rig.killAppliance();
        await rig.startAppliance();
        expect(await rig.node(NODE)).toMatchObject({ state: 'deploying' });
      },
    );
    await rig.waitForState(NODE, 'enrolling', 900_000);
    expect(await machine.diskBeginsEmpty()).toBe(false);
    await machine.until(() => STARTED.test(machine.screen), 'it was to start what was installed');
  });
});
