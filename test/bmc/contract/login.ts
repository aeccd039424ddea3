import { describe, expect, it } from 'vitest';
import { BmcError } from '../../../appliance/bmc/bmc-error.ts';
import { Secret } from '../../../appliance/domain/secret.ts';
import type { Contract } from './describe-bmc.ts';

const WRONG = 'Wr0ng-guess-here';
const NEW = 'An0ther-password';

export function describeLogin({ start }: Contract): void {
  describe('the login', () => {
    it('rejects a wrong password, never retries it, and does not reveal it', async () => {
      const { open, password } = await start();
      const refusal: unknown = await open(WRONG)
        .powerState()
        .catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(BmcError);
      expect(refusal).toMatchObject({ failure: 'authentication', retryable: false });
      const text = `${String(refusal)}${JSON.stringify(refusal)}${(refusal as Error).stack}`;
      expect(text).not.toContain(WRONG);
      expect(text).not.toContain(password);
    });

    it('changes the password, and needs the new one from then on', async () => {
      const { open } = await start();
      const bmc = open();
      await bmc.setOwnPassword(new Secret(NEW));
      await bmc.close();
      expect(await open(NEW).powerState()).toBe('off');
      await expect(open().powerState()).rejects.toMatchObject({ failure: 'authentication' });
    });

    it('restores the old password in the session that changed it', async () => {
      const { open, password } = await start();
      const bmc = open();
      await bmc.setOwnPassword(new Secret(NEW));
      await bmc.setOwnPassword(new Secret(password));
      expect(await open().powerState()).toBe('off');
    });
  });

  describe('the driver', () => {
    it('queues concurrent verbs', async () => {
      const { open, machine } = await start();
      const bmc = open();
      const [before, , after, log] = await Promise.all([
        bmc.powerState(),
        bmc.powerOn(),
        bmc.powerState(),
        bmc.eventLog(),
      ]);
      expect([before, after]).toEqual(['off', 'on']);
      expect(log.length).toBeGreaterThan(0);
      expect(machine.openSessions()).toBeLessThanOrEqual(1);
    });

    it('leaves no session open, closes once, and rejects verbs afterwards', async () => {
      const { open, machine } = await start();
      const bmc = open();
      await bmc.powerState();
      await bmc.close();
      await bmc.close();
      expect(machine.openSessions()).toBe(0);
      await expect(bmc.powerState()).rejects.toMatchObject({ failure: 'closed', retryable: false });
    });

    it('opens no session before the first verb', async () => {
      const { open, machine } = await start();
      await open().close();
      expect(machine.openSessions()).toBe(0);
    });

    it('reports an unreachable BMC as retryable', async () => {
      const { open, unplug } = await start();
      await unplug();
      await expect(open().powerState()).rejects.toMatchObject({ failure: 'unreachable', retryable: true });
    });
  });
}
