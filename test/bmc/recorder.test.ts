import { describe, expect, it } from 'vitest';
import { type RecordedAction, recorderBmc } from '../../appliance/bmc/recorder.ts';
import { Secret } from '../../appliance/domain/secret.ts';
import { readUntil } from './ipmi/client-rig.ts';

describe('the recorder', () => {
  it('records every verb that would change the machine, in order', async () => {
    const actions: RecordedAction[] = [];
    const bmc = recorderBmc((action) => actions.push(action));
    await bmc.setBoot({ device: 'network', persistent: false, firmware: 'efi' });
    await bmc.powerCycle();
    await bmc.setBoot({ device: 'disk', persistent: true, firmware: null });
    await bmc.powerOn();
    await bmc.powerOff();
    await bmc.powerReset();
    await bmc.powerSoft();
    await bmc.identify('on');
    await bmc.identify({ seconds: 15 });
    await bmc.clearEventLog();
    await bmc.openConsole({ steal: false });
    await bmc.openConsole({ steal: true });
    expect(actions).toEqual([
      'boot-once-from-network-efi',
      'power-cycle',
      'boot-always-from-disk',
      'power-on',
      'power-off',
      'power-reset',
      'power-soft',
      'identify-on',
      'identify-15-seconds',
      'clear-event-log',
      'open-console',
      'take-over-console',
    ]);
  });

  it('records a password change without the password', async () => {
    const written: unknown[] = [];
    await recorderBmc((...all) => written.push(...all)).setOwnPassword(new Secret('hunter2'));
    expect(written).toEqual(['set-own-password']);
  });

  it('has a console that ends at once without output', async () => {
    const console = await recorderBmc(() => undefined).openConsole({ steal: false });
    console.write(Uint8Array.of(1));
    expect(await readUntil(console, 'never')).toBe('');
    await console.close();
    await console.close();
  });

  it('reports the power state as unknown', async () => {
    const actions: RecordedAction[] = [];
    expect(await recorderBmc((action) => actions.push(action)).powerState()).toBe('unknown');
    expect(actions).toEqual([]);
  });

  it('rejects when the record cannot be written', async () => {
    const bmc = recorderBmc(() => {
      throw new Error('no room');
    });
    await expect(bmc.powerOff()).rejects.toThrow('no room');
  });
});
