import { describe, expect, it } from 'vitest';
import { IPMI_DEPS, type IpmiDeps } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { startSimulator, targetOf } from './client-rig.ts';
import { lossyProxy, type PacketFaults } from './lossy-proxy.ts';

const PATIENT: IpmiDeps = {
  ...IPMI_DEPS,
  timings: { firstWait: 80, growth: 1.1, tries: 30, keepAliveAfter: 25_000, verb: 300_000 },
};
const BMCS = 12;

describe.each<[string, PacketFaults]>([
  ['drops one packet in five', { dropped: 20, duplicated: 0, reordered: 0 }],
  ['duplicates one packet in three', { dropped: 0, duplicated: 33, reordered: 0 }],
  ['reorders one packet in four', { dropped: 0, duplicated: 0, reordered: 25 }],
  ['does all of these', { dropped: 8, duplicated: 12, reordered: 12 }],
])('a network that %s', (_what, faults) => {
  it('still powers on every machine and reads all its events', async () => {
    const work = Array.from({ length: BMCS }, async (_, index) => {
      const simulator = await startSimulator();
      const proxy = await lossyProxy(simulator.port, faults, index + 1);
      const bmc = ipmiBmc(targetOf(proxy.port), { efi: true }, PATIENT);
      await bmc.setBoot({ device: 'network', persistent: false, firmware: 'efi' });
      await bmc.powerOn();
      expect(await bmc.powerState()).toBe('on');
      expect((await bmc.eventLog()).map(({ id }) => id)).toEqual(['1', '2']);
      expect(simulator.machine.power).toBe('on');
      await bmc.close();
      return proxy.affected;
    });
    const affected = await Promise.all(work);
    expect(affected.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(BMCS);
  });
});
