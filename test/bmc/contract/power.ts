import { describe, expect, it } from 'vitest';
import type { Contract } from './describe-bmc.ts';

export function describePower({ start }: Contract): void {
  describe('power', () => {
    it('is reported, and a query does not change it', async () => {
      const { open, machine } = await start();
      const bmc = open();
      for (const power of ['off', 'on', 'off'] as const) {
        machine.switchTo(power);
        expect(await bmc.powerState()).toBe(power);
        expect(machine.power()).toBe(power);
      }
      expect(machine.starts()).toBe(0);
    });

    it('turns on, and a second power-on has no effect', async () => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('off');
      await bmc.powerOn();
      expect(machine.power()).toBe('on');
      await bmc.powerOn();
      expect(machine.starts()).toBe(1);
    });

    it('turns off, and a second power-off has no effect', async () => {
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

    it.each(['powerCycle', 'powerReset'] as const)('turns on with %s when the machine is off', async (verb) => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('off');
      await bmc[verb]();
      expect(machine.power()).toBe('on');
      expect(machine.starts()).toBe(1);
    });

    it.each(['powerCycle', 'powerReset'] as const)('stays on with %s, and two calls are two boots', async (verb) => {
      const { open, machine } = await start();
      const bmc = open();
      machine.switchTo('on');
      await bmc[verb]();
      await bmc[verb]();
      expect(machine.power()).toBe('on');
      expect(machine.starts()).toBe(2);
    });

    it('sends a soft request to the operating system, and none when the machine is off', async () => {
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
