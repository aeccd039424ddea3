import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TftpListeners } from '../../../appliance/servers/tftp/tftp-listeners.ts';
import { machineIn } from '../../policy/boot-fixtures.ts';
import { deskWith, fleetOf } from './tftp-rig.ts';

async function listeners(
  listen: ConstructorParameters<typeof TftpListeners>[0]['listen'],
  fleet = fleetOf(machineIn('ready'), { dhcp: 'off' }),
) {
  const tftp = new TftpListeners({
    fleet,
    listen,
    desk: await deskWith(),
    trail: { note: () => {} },
    whoIs: () => ({ mac: null, machine: null }),
    log: pino({ level: 'silent' }),
  });
  onTestFinished(() => tftp.stop());
  return tftp;
}

describe('TFTP listeners', () => {
  it('are off where no network is served, and where the site file says so', async () => {
    for (const listen of ['networks', null] as const) {
      const tftp = await listeners(listen);
      await tftp.reconcile();
      expect(tftp.places()).toEqual([]);
      expect(tftp.health()).toBe('off');
    }
  });

  it('listen where the site file says, once, however often the networks change', async () => {
    const tftp = await listeners({ address: '127.0.0.1', port: 0 });
    await tftp.reconcile();
    const [place] = tftp.places();
    await tftp.reconcile();
    expect(tftp.places()).toEqual([place]);
    expect(tftp.health()).toBe('running');
    await tftp.stop();
    expect(tftp.places()).toEqual([]);
  });

  it('say that they failed while the port is taken, and listen as soon as it is free', async () => {
    const other = createSocket('udp4');
    other.bind(0, '127.0.0.1');
    await once(other, 'listening');
    const tftp = await listeners({ address: '127.0.0.1', port: other.address().port });
    await tftp.reconcile();
    expect(tftp.health()).toBe('failed');
    const closed = once(other, 'close');
    other.close();
    await closed;
    await tftp.reconcile();
    expect(tftp.health()).toBe('running');
  });
});
