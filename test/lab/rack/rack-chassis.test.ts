import { describe, expect, it } from 'vitest';
import { BOOT_FLAGS, type BootFlag, type Chassis, obey } from '../../../appliance/lab/rack/chassis.ts';

class PaperChassis implements Chassis {
  readonly told: string[] = [];
  isOn = false;
  bootFlag: BootFlag = 'none';

  async powerOn(): Promise<void> {
    this.told.push('on');
  }

  async powerOff(): Promise<void> {
    this.told.push('off');
  }

  async reset(): Promise<void> {
    this.told.push('reset');
  }

  async softOff(): Promise<void> {
    this.told.push('soft');
  }

  async setBootFlag(flag: BootFlag): Promise<void> {
    this.bootFlag = flag;
  }

  identify(seconds: number): void {
    this.told.push(`light ${seconds}`);
  }
}

describe('a chassis', () => {
  it.each([
    ['set power 1', 'on'],
    ['set power 0', 'off'],
    ['set reset 1', 'reset'],
    ['set shutdown 1', 'soft'],
    ['set identify 15 0', 'light 15'],
    ['set identify 0 0', 'light 0'],
    ['set identify 15 1', 'light Infinity'],
  ])('told "%s" does it', async (words, done) => {
    const chassis = new PaperChassis();
    expect(await obey(chassis, words.split(' '))).toBe('');
    expect(chassis.told).toEqual([done]);
  });

  it.each(BOOT_FLAGS)('keeps the boot device %s and tells it', async (flag) => {
    const chassis = new PaperChassis();
    await obey(chassis, ['set', 'boot', flag]);
    expect(await obey(chassis, ['get', 'boot'])).toBe(`boot:${flag}\n`);
  });

  it('tells several things at once', async () => {
    const chassis = new PaperChassis();
    chassis.isOn = true;
    expect(await obey(chassis, ['get', 'power', 'boot'])).toBe('power:1\nboot:none\n');
  });

  it('does several things in their order', async () => {
    const chassis = new PaperChassis();
    await obey(chassis, ['set', 'boot', 'pxe', 'power', '1']);
    expect([chassis.bootFlag, chassis.told]).toEqual(['pxe', ['on']]);
  });

  it.each(['set boot floppy', 'set colour red', 'eat power', ''])('refuses "%s"', async (words) => {
    await expect(obey(new PaperChassis(), words.split(' '))).rejects.toThrow('not a');
  });
});
