import { describe, expect, it } from 'vitest';
import { BOOT_DEVICES } from '../../../appliance/bmc/bmc.ts';
import type { Contract } from './describe-bmc.ts';

const SET = BOOT_DEVICES.filter((device) => device !== 'none');

export function describeBoot({ start, lacks }: Contract): void {
  const has = (device: string): boolean => device !== 'http' || !lacks.has('http-boot');

  describe('the boot device', () => {
    it.each(SET.filter(has))(
      'sets %s for one boot, reads it back, and does not change the power state',
      async (device) => {
        const { open, machine } = await start();
        const bmc = open();
        const choice = { device, persistent: false, firmware: 'efi' } as const;
        expect((await bmc.setBoot(choice)).device).toBe(device);
        expect(machine.boot().device).toBe(device);
        expect((await bmc.setBoot(choice)).device).toBe(device);
        expect(machine.boot().device).toBe(device);
        expect(machine.power()).toBe('off');
        expect(machine.starts()).toBe(0);
      },
    );

    if (!lacks.has('boot-details')) {
      it('sets a one-time UEFI override', async () => {
        const { open, machine } = await start();
        const readBack = await open().setBoot({ device: 'network', persistent: false, firmware: 'efi' });
        expect(readBack.differences).toEqual([]);
        expect(machine.boot()).toEqual({ device: 'network', persistent: false, firmware: 'efi' });
      });
    }

    if (!lacks.has('boot-details') && !lacks.has('persistent-boot')) {
      it('sets a persistent override', async () => {
        const { open, machine } = await start();
        const readBack = await open().setBoot({ device: 'cdrom', persistent: true, firmware: 'efi' });
        expect(readBack.differences).toEqual([]);
        expect(machine.boot()).toMatchObject({ device: 'cdrom', persistent: true });
      });
    }

    it('keeps the last override', async () => {
      const { open, machine } = await start();
      const bmc = open();
      for (const device of ['cdrom', 'network', 'setup'] as const) {
        await bmc.setBoot({ device, persistent: false, firmware: 'efi' });
      }
      expect(machine.boot().device).toBe('setup');
    });

    it('removes the override with device none', async () => {
      const { open, machine } = await start();
      const bmc = open();
      await bmc.setBoot({ device: 'network', persistent: false, firmware: 'efi' });
      expect((await bmc.setBoot({ device: 'none', persistent: false, firmware: null })).device).toBe('none');
      expect(machine.boot().device).toBe('none');
    });

    if (lacks.has('http-boot')) {
      it('rejects http where the protocol does not support it, and sets nothing', async () => {
        const { open, machine } = await start();
        const setting = open().setBoot({ device: 'http', persistent: false, firmware: 'efi' });
        await expect(setting).rejects.toMatchObject({ failure: 'unsupported', retryable: false });
        expect(machine.boot().device).toBe('none');
      });
    }
  });
}
