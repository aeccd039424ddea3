import { describe, expect, it } from 'vitest';
import type { Contract } from './describe-bmc.ts';

const HEALTH = ['ok', 'warning', 'critical', 'unknown'];

export function describeRecords({ start, lacks }: Contract): void {
  describe('the records of the BMC', () => {
    it('return the same identity every time', async () => {
      const { open } = await start();
      const identity = await open().identity();
      for (const part of [identity.vendor, identity.product, identity.firmware]) expect(part).not.toBe('');
      expect(await open().identity()).toEqual(identity);
    });

    it('contain sensors, each with a name, a kind and a health', async () => {
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

    it('contain an event log, oldest first, one line per entry', async () => {
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

    it('are empty after the log is cleared, and a second clear succeeds', async () => {
      const { open } = await start();
      const bmc = open();
      await bmc.clearEventLog();
      expect((await bmc.eventLog()).length).toBeLessThanOrEqual(1);
      await bmc.clearEventLog();
      expect((await bmc.eventLog()).length).toBeLessThanOrEqual(1);
    });
  });

  describe('the identify light', () => {
    it('turns on and off, and repeating has no effect', async () => {
      const { open, machine } = await start();
      const bmc = open();
      for (const light of ['on', 'on', 'off', 'off', 'on'] as const) {
        await bmc.identify(light);
        if (!lacks.has('light-state')) expect(machine.light()).toBe(light);
      }
    });

    it('is timed where the BMC supports it, and stays on where it does not', async () => {
      const { open, machine } = await start();
      await open().identify({ seconds: 20 });
      if (lacks.has('light-state')) return;
      expect(machine.light()).toEqual(lacks.has('timed-light') ? 'on' : { seconds: 20 });
    });
  });
}
