import { describe, expect, it } from 'vitest';
import { BOOT_FLAGS, type BootFlag, type Chassis, runChassisCommand } from '../../../appliance/lab/rack/chassis.ts';

class PaperChassis implements Chassis {
  readonly commands: string[] = [];
  isOn = false;
  bootFlag: BootFlag = 'none';

  async powerOn(): Promise<void> {
    this.commands.push('on');
  }

  async powerOff(): Promise<void> {
    this.commands.push('off');
  }

  async reset(): Promise<void> {
    this.commands.push('reset');
  }

  async softOff(): Promise<void> {
    this.commands.push('soft');
  }

  async setBootFlag(flag: BootFlag): Promise<void> {
    this.bootFlag = flag;
  }

  identify(seconds: number): void {
    this.commands.push(`light ${seconds}`);
  }
}

describe('runChassisCommand', () => {
  it.each([
    ['set power 1', 'on'],
    ['set power 0', 'off'],
    ['set reset 1', 'reset'],
    ['set shutdown 1', 'soft'],
    ['set identify 15 0', 'light 15'],
    ['set identify 0 0', 'light 0'],
    ['set identify 15 1', 'light Infinity'],
  ])('executes "%s"', async (words, done) => {
    const chassis = new PaperChassis();
    expect(await runChassisCommand(chassis, words.split(' '))).toBe('');
    expect(chassis.commands).toEqual([done]);
  });

  it.each(BOOT_FLAGS)('sets the boot device %s and reports it', async (flag) => {
    const chassis = new PaperChassis();
    await runChassisCommand(chassis, ['set', 'boot', flag]);
    expect(await runChassisCommand(chassis, ['get', 'boot'])).toBe(`boot:${flag}\n`);
  });

  it('reports several values in one command', async () => {
    const chassis = new PaperChassis();
    chassis.isOn = true;
    expect(await runChassisCommand(chassis, ['get', 'power', 'boot'])).toBe('power:1\nboot:none\n');
  });

  it('executes several changes in order', async () => {
    const chassis = new PaperChassis();
    await runChassisCommand(chassis, ['set', 'boot', 'pxe', 'power', '1']);
    expect([chassis.bootFlag, chassis.commands]).toEqual(['pxe', ['on']]);
  });

  it.each(['set boot floppy', 'set colour red', 'eat power', ''])('rejects "%s"', async (words) => {
    await expect(runChassisCommand(new PaperChassis(), words.split(' '))).rejects.toThrow('not a');
  });
});
