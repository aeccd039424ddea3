// Faults around a machine during its work: lost packets, an unreachable BMC, a full pool, a wrong image. Either the work completes
// nevertheless, or the reason is reported. A killed appliance is in power-cut.test.ts. Needs root.

import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { HOUR } from '../../appliance/domain/instant.ts';
import { parseIpv4 } from '../../appliance/domain/ipv4.ts';
import { parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import type { InventoryDocument } from '../../appliance/inventory/schema.ts';
import { LAST_RESORT_MS } from '../lab/rack/fair-clock.ts';
import { BOOTED } from '../lab/rack/service-os-image.ts';
import { leaseOf } from '../store/samples.ts';
import { WRONG_SUM, withTinyProfiles } from './faults-images.ts';
import { TroubledMachine } from './faults-machine.ts';
import { OnboardingRig } from './rig.ts';

vi.setConfig({ testTimeout: LAST_RESORT_MS, hookTimeout: LAST_RESORT_MS });

const STARTED = new RegExp(BOOTED);
const ONLY_ADDRESS = '10.77.1.1';

/** One address in the pool; the second machine has no reservation. */
function withSmallPool(inventory: InventoryDocument): InventoryDocument {
  return {
    ...inventory,
    networks: inventory.networks?.map((each) => ({ ...each, pools: [{ from: ONLY_ADDRESS, to: ONLY_ADDRESS }] })) ?? [],
    nodes:
      inventory.nodes?.map((node) =>
        node.name === 'node02'
          ? { ...node, interfaces: node.interfaces?.map(({ address: _, ...card }) => card) ?? [] }
          : node,
      ) ?? [],
  };
}

/** Another client holds it. */
const taken = leaseOf(99, {
  address: mustParse(parseIpv4(ONLY_ADDRESS)),
  network: mustParse(parseObjectName('boot')),
  grantedAt: Date.now(),
  expiresAt: Date.now() + HOUR,
});

describe('a fault around a machine', () => {
  let rig: OnboardingRig;
  let machine: TroubledMachine;
  let sum: string;

  beforeAll(async () => {
    rig = await OnboardingRig.start({
      firmwares: ['bios-ipxe-rom', 'bios-ipxe-rom'],
      machines: (each) => ({ ...each, first: 'network' }),
      inventory: async (written) => {
        const profiles = await withTinyProfiles(written, withSmallPool);
        sum = profiles.sum;
        return [profiles.file];
      },
    });
    machine = new TroubledMachine(rig, 'node01');
    await machine.put('ready', (store) => store.commitLeases([taken]));
  });
  afterEach(() => machine?.powerOff());
  afterAll(() => rig?.stop());

  const deploy = (profile: string) => rig.json('deploy', 'node01', '--yes', '--profile', profile);

  it('is reported for a full pool, by the trail and the diagnosis of the requesting machine', async () => {
    const starved = new TroubledMachine(rig, 'node02');
    const before = await starved.newest();
    await rig.json('commission', 'node02');
    await starved.happens(({ kind }) => kind === 'dhcp.silent', before);
    await starved.shows(/No configuration methods succeeded|No more network devices/);
    await starved.powerOff();
    expect((await rig.run('trail', 'node02')).stdout).toContain('every address of the pools is taken');
    expect(await rig.json('diagnose', 'node02')).toMatchObject({
      diagnosis: { id: 'pool-exhausted', reason: expect.stringContaining('the pool of network boot is exhausted') },
    });
  });

  it('is reported for an unreachable BMC by deploy, with the remedy, and nothing is armed', async () => {
    await rig.rack.fault({ target: 'node01', kind: 'bmc-gone', on: true });
    try {
      const { status, stdout } = await rig.run('deploy', 'node01', '--yes', '--profile', 'tiny', '--json');
      expect(status).not.toBe(0);
      expect(JSON.parse(stdout)).toMatchObject([
        {
          code: 'not_deployable',
          details: [
            expect.stringContaining('its BMC at 10.77.100.1 cannot be used (ipmi): '),
            expect.stringContaining('coldiron power node01 status'),
          ],
        },
      ]);
    } finally {
      await rig.rack.fault({ target: 'node01', kind: 'bmc-gone', on: false });
    }
    expect(await rig.node('node01')).toMatchObject({ state: 'ready', intent: null });
    expect(await rig.trail('node01', 'intent')).toEqual([]);
  });

  it('stops the installation of an image with a wrong checksum, reports both checksums, and the disk does not boot', async () => {
    await deploy('mistyped');
    await machine.until(
      async () => (await rig.node('node01')).state === 'failed',
      'the wrong image was to be found out',
    );
    const { failure } = await rig.node('node01');
    expect(failure).toMatchObject({ step: 'deploy', reason: expect.stringContaining('check-image-sum: ') });
    expect(failure?.reason).toContain(`its sha256 is ${sum}, not ${WRONG_SUM}`);
    expect(await rig.json('diagnose', 'node01')).toMatchObject({ diagnosis: { id: 'image-hash-wrong' } });
    await machine.powerOff();
    expect(await machine.diskBeginsEmpty()).toBe(true);
  });

  it('does not stop an installation when every fifth packet is lost, and the machine boots the installed system', async () => {
    await deploy('tiny');
    await machine.until(() => machine.isOn, 'its BMC was to switch it on');
    await machine.shows(/coldiron: service OS on/);
    await rig.rack.fault({ target: 'node01', kind: 'loss', on: true, value: '20' });
    try {
      await rig.waitForState('node01', 'enrolling', 600_000);
    } finally {
      await rig.rack.fault({ target: 'node01', kind: 'loss', on: false });
    }
    await machine.until(() => STARTED.test(machine.screen), 'it was to start what was installed');
  });
});
