import { describe, expect, it } from 'vitest';
import { IPMI_TOOLS, type IpmiTools } from '../../../appliance/bmc/ipmi/connection.ts';
import { ipmiBmc } from '../../../appliance/bmc/ipmi/ipmi-bmc.ts';
import { startSimulator, targetOf } from './client-rig.ts';
import { lossyProxy, type Weather } from './lossy-proxy.ts';

const PATIENT: IpmiTools = {
  ...IPMI_TOOLS,
  timings: { firstWait: 80, growth: 1.1, tries: 30, keepAliveAfter: 25_000, verb: 300_000 },
};
const BMCS = 12;

describe.each<[string, Weather]>([
  ['loses one packet in five', { lost: 20, doubled: 0, swapped: 0 }],
  ['doubles one packet in three', { lost: 0, doubled: 33, swapped: 0 }],
  ['swaps one packet in four', { lost: 0, doubled: 0, swapped: 25 }],
  ['does all of it', { lost: 8, doubled: 12, swapped: 12 }],
])('a network that %s', (_what, weather) => {
  it('still switches every machine on, tells it apart and reads all its events', async () => {
    const work = Array.from({ length: BMCS }, async (_, index) => {
      const simulator = await startSimulator();
      const proxy = await lossyProxy(simulator.port, weather, index + 1);
      const bmc = ipmiBmc(targetOf(proxy.port), { efi: true }, PATIENT);
      await bmc.setBoot({ device: 'network', persistent: false, firmware: 'efi' });
      await bmc.powerOn();
      expect(await bmc.powerState()).toBe('on');
      expect((await bmc.eventLog()).map(({ id }) => id)).toEqual(['1', '2']);
      expect(simulator.machine.power).toBe('on');
      await bmc.close();
      return proxy.spoiled;
    });
    const spoiled = await Promise.all(work);
    expect(spoiled.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(BMCS);
  });
});
