import { describe, expect, it } from 'vitest';
import { readUntil } from '../ipmi/client-rig.ts';
import type { Contract } from './describe-bmc.ts';

export function describeConsole({ start, lacks }: Contract): void {
  describe('the console', () => {
    if (lacks.has('console')) {
      it('is unsupported where the protocol has none', async () => {
        const { open } = await start();
        await expect(open().openConsole({ steal: true })).rejects.toMatchObject({
          failure: 'unsupported',
          retryable: false,
        });
      });
      return;
    }

    it('transfers bytes in both directions, and ends for the reader on close', async () => {
      const { open, machine } = await start();
      const bmc = open();
      const console = await bmc.openConsole({ steal: false });
      expect(await readUntil(console, 'login: ')).toBe('node login: ');
      console.write(new TextEncoder().encode('root\n'));
      expect(await readUntil(console, '\n')).toBe('ROOT\n');
      const reading = readUntil(console, 'never');
      await console.close();
      expect(await reading).toBe('');
      await console.close();
      await bmc.close();
      expect(machine.openSessions()).toBe(0);
    });

    it('does not block other verbs', async () => {
      const { open } = await start();
      const bmc = open();
      const console = await bmc.openConsole({ steal: false });
      expect(await bmc.powerState()).toBe('off');
      await console.close();
    });

    it('rejects with busy while another client has it, unless it steals it', async () => {
      const { open, holdConsole } = await start();
      holdConsole?.();
      const bmc = open();
      await expect(bmc.openConsole({ steal: false })).rejects.toMatchObject({ failure: 'busy', retryable: true });
      const console = await bmc.openConsole({ steal: true });
      expect(await readUntil(console, 'login: ')).toBe('node login: ');
      await console.close();
    });
  });
}
