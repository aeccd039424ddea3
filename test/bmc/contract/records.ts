import { describe, expect, it } from 'vitest';
import type { Contract } from './describe-bmc.ts';

const HEALTH = ['ok', 'warning', 'critical', 'unknown'];

export function describeRecords({ start, lacks }: Contract): void {
  describe('what the BMC knows', () => {
    it('is what it is, the same whenever it is asked', async () => {
      const { open } = await start();
      const identity = await open().identity();
      for (const part of [identity.vendor, identity.product, identity.firmware]) expect(part).not.toBe('');
      expect(await open().identity()).toEqual(identity);
    });

    it('is its sensors, each with a name, a kind and a health', async () => {
      const { open } = await start();
      const sensors = await open().sensors();
      expect(sensors.length).toBeGreaterThan(0);
      for (const { name, kind, value, unit, health, states } of sensors) {
        expect(name).not.toBe('');
        expect(kind).not.toBe('');
        expect(value === null || Number.isFinite(value)).toBe(true);
        expect(typeof unit).toBe('string');
        expect(HEALTH).toContain(health);
        expect(states.every((state) => state !== '')).toBe(true);
      }
      expect(sensors.map(({ kind }) => kind)).toContain('temperature');
    });

    it('is its event log, the oldest first, a line each', async () => {
      const { open } = await start();
      const log = await open().eventLog();
      expect(log.length).toBeGreaterThan(0);
      expect(new Set(log.map(({ id }) => id)).size).toBe(log.length);
      const times = log.flatMap(({ at }) => at ?? []);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      for (const { severity, message } of log) {
        expect(HEALTH).toContain(severity);
        expect(message).toMatch(/^\S.*$/);
      }
    });

    it('is forgotten when its log is cleared, and clearing twice is no mistake', async () => {
      const { open } = await start();
      const bmc = open();
      await bmc.clearEventLog();
      expect((await bmc.eventLog()).length).toBeLessThanOrEqual(1);
      await bmc.clearEventLog();
      expect((await bmc.eventLog()).length).toBeLessThanOrEqual(1);
    });
  });

  describe('the light', () => {
    it('goes on and off, and twice is once', async () => {
      const { open, machine } = await start();
      const bmc = open();
      for (const light of ['on', 'on', 'off', 'off', 'on'] as const) {
        await bmc.identify(light);
        if (!lacks.has('light-state')) expect(machine.light()).toBe(light);
      }
    });

    it('blinks for a while where the BMC can, and is on where it cannot', async () => {
      const { open, machine } = await start();
      await open().identify({ seconds: 20 });
      if (lacks.has('light-state')) return;
      expect(machine.light()).toEqual(lacks.has('timed-light') ? 'on' : { seconds: 20 });
    });
  });
}
