import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { TftpListeners } from '../../../appliance/servers/tftp/tftp-listeners.ts';
import { networkWith } from '../../boot/boot-fixtures.ts';
import { freePort } from '../../free-port.ts';
import { ack, read, sloppyClient } from './sloppy-client.ts';
import { resolverWith } from './tftp-rig.ts';

const [HERE, THERE] = ['127.69.0.1', '127.69.0.2'];

async function listeners(
  listen: ConstructorParameters<typeof TftpListeners>[0]['listen'],
  settings: ConstructorParameters<typeof TftpListeners>[0]['settings'] = {},
  servers: readonly string[] = [],
) {
  const networks = servers.map((server) => networkWith({ server: mustParse(parseIpv4(server)) }));
  const tftp = new TftpListeners({
    fleet: { networks: () => [networkWith({ dhcp: 'off' }), ...networks].values() },
    listen,
    settings,
    resolver: await resolverWith(),
    trail: { note: () => {} },
    whoIs: () => ({ mac: null, machine: null }),
    log: pino({ level: 'silent' }),
  });
  onTestFinished(() => tftp.stop());
  return tftp;
}

describe('TFTP listeners', () => {
  it('are off where no network is served, and where the site file turns them off', async () => {
    for (const listen of ['networks', null] as const) {
      const tftp = await listeners(listen);
      await tftp.reconcile();
      expect(tftp.places()).toEqual([]);
      expect(tftp.health()).toBe('off');
    }
  });

  it('listen once on the address of the site file, however often the networks change', async () => {
    const tftp = await listeners({ address: '127.0.0.1', port: 0 });
    await tftp.reconcile();
    const [place] = tftp.places();
    await tftp.reconcile();
    expect(tftp.places()).toEqual([place]);
    expect(tftp.health()).toBe('running');
    await tftp.stop();
    expect(tftp.places()).toEqual([]);
  });

  it('report a failure while the port is in use, and listen as soon as it is free', async () => {
    const other = createSocket('udp4');
    other.bind(0, '127.0.0.1');
    await once(other, 'listening');
    const tftp = await listeners({ address: '127.0.0.1', port: other.address().port });
    await tftp.reconcile();
    expect(tftp.health()).toBe('failed');
    const where = `127.0.0.1:${other.address().port}`;
    expect(tftp.states()).toEqual([{ where, refusedBecause: expect.stringContaining(where) }]);
    const closed = once(other, 'close');
    other.close();
    await closed;
    await tftp.reconcile();
    expect(tftp.health()).toBe('running');
    expect(tftp.states()).toEqual([{ where, refusedBecause: null }]);
  });

  it('apply the settings of the site file: single port, block size and window size', async () => {
    const settings = { singlePort: true, maxBlockSize: 1024, maxWindowSize: 2 };
    const tftp = await listeners({ address: '127.0.0.1', port: 0 }, settings);
    await tftp.reconcile();
    const [place] = tftp.places();
    const client = await sloppyClient();
    client.send(read('snponly.efi', { blksize: '1468', windowsize: '8' }), place?.port ?? 0);
    const { from, packet } = await client.next();
    expect(from).toBe(place?.port);
    expect(packet).toMatchObject({
      options: new Map([
        ['blksize', '1024'],
        ['windowsize', '2'],
      ]),
    });
  });

  it('share one limit of concurrent transfers', async () => {
    const tftp = await listeners('networks', { port: await freePort(), atOnce: 1 }, [HERE, THERE]);
    await tftp.reconcile();
    const [here, there] = tftp.places();
    const [one, other] = [await sloppyClient(), await sloppyClient()];
    one.send(read('snponly.efi'), here?.port ?? 0, HERE);
    const { packet, from } = await one.next();
    expect(packet).toMatchObject({ op: 'data' });
    one.send(ack(1), from, HERE);
    await one.next();
    other.send(read('snponly.efi'), there?.port ?? 0, THERE);
    expect((await other.next()).packet).toMatchObject({ op: 'error', message: 'too many transfers at once (1)' });
  });
});
