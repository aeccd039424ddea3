import { describe, expect, it } from 'vitest';
import type { Contract } from './describe-bmc.ts';

export function describePower({ start }: Contract): void {
  describe('power', () => {
    it('is told as it is, and not changed by asking', async () => {
      const { open, machine } = await start();
      const bmc = open();
      for (const power of ['off', 'on', 'off'] as const) {
        machine.switchTo(power);
        expect(await bmc.powerState()).toBe(power);
        expect(machine.power()).toBe(power);
      }
      expect(machine.starts()).toBe(0);
    });

    it('goes on, and on again changes nothing', async () => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('off');
      await bmc.powerOn();
      expect(machine.power()).toBe('on');
      await bmc.powerOn();
      expect(machine.starts()).toBe(1);
    });

    it('goes off, and off again changes nothing', async () => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('on');
      await bmc.powerOff();
      expect(machine.power()).toBe('off');
      await bmc.powerOff();
      expect(machine.power()).toBe('off');
      expect(machine.starts()).toBe(0);
      expect(machine.shutdowns()).toBe(0);
    });

    it.each(['powerCycle', 'powerReset'] as const)('of a machine that is off goes on with %s', async (verb) => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('off');
      await bmc[verb]();
      expect(machine.power()).toBe('on');
      expect(machine.starts()).toBe(1);
    });

    it.each(['powerCycle', 'powerReset'] as const)('stays on with %s, and twice is two starts', async (verb) => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('on');
      await bmc[verb]();
      await bmc[verb]();
      expect(machine.power()).toBe('on');
      expect(machine.starts()).toBe(2);
    });

    it('is left to the operating system by a soft request, which a machine that is off never sees', async () => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('off');
      await bmc.powerSoft();
      expect(machine.shutdowns()).toBe(0);
      machine.switchTo('on');
      await bmc.powerSoft();
      expect(machine.shutdowns()).toBe(1);
      expect(machine.starts()).toBe(0);
    });
  });
}
