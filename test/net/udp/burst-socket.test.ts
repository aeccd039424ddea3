import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { batchCalls } from '../../../appliance/net/udp/batched-socket.ts';
import { openBurstSocket } from '../../../appliance/net/udp/burst-socket.ts';
import type { BurstSocket } from '../../../appliance/net/udp/udp-socket.ts';
import { openSockets } from '../../servers/tftp/tftp-rig.ts';
import { burstSocket, bytes, peer, text } from './burst-rig.ts';

describe.each([
  ['with batched calls', batchCalls()],
  ['with a socket of Node', null],
])('a burst socket %s', (_how, calls) => {
  it('answers every peer of a burst of several batches with its own reply', async () => {
    const socket: BurstSocket = await burstSocket((got, from) => socket.send(bytes(`${text(got)}!`), from), calls);
    const peers = await Promise.all(Array.from({ length: 10 }, peer));
    for (let round = 0; round < 30; round += 1) {
      for (const [at, one] of peers.entries()) one.send(`${at}:${round}`, socket);
    }
    const expected = (at: number) => Array.from({ length: 30 }, (_, round) => `${at}:${round}!`);
    for (const [at, one] of peers.entries()) expect(await one.got(30)).toEqual(expected(at));
  });

  it('sends in order outside a burst, and lets the caller reuse the bytes at once', async () => {
    const socket = await burstSocket(() => undefined, calls);
    const one = await peer();
    const reused = bytes('....');
    const expected = Array.from({ length: 150 }, (_, at) => String(at).padStart(4, '0'));
    for (const content of expected) {
      reused.set(bytes(content));
      socket.send(reused, one.endpoint);
    }
    expect(await one.got(150)).toEqual(expected);
  });

  it('sends datagrams longer than an Ethernet frame in order, and empty ones', async () => {
    const socket = await burstSocket(() => undefined, calls);
    const one = await peer();
    const contents = ['before', 'x'.repeat(9000), '', 'after'];
    for (const content of contents) socket.send(bytes(content), one.endpoint);
    expect(await one.got(4)).toEqual(contents);
  });

  it('sends queued datagrams before it closes, and none afterwards', async () => {
    const socket = await burstSocket(() => undefined, calls);
    const one = await peer();
    socket.send(bytes('last'), one.endpoint);
    socket.close();
    socket.close();
    socket.send(bytes('too late'), one.endpoint);
    const other = await burstSocket(() => undefined, calls);
    other.send(bytes('of another'), one.endpoint);
    expect(await one.got(2)).toEqual(['last', 'of another']);
  });

  it('can be closed by its receiver', async () => {
    let received = 0;
    const closed = Promise.withResolvers<void>();
    const socket: BurstSocket = await burstSocket(() => {
      received += 1;
      socket.close();
      closed.resolve();
    }, calls);
    const one = await peer();
    for (let count = 0; count < 100; count += 1) one.send('close', socket);
    await closed.promise;
    socket.receive();
    expect(received).toBe(1);
  });

  it('leaks no descriptor, opened or refused', async () => {
    const taken = await burstSocket(() => undefined, calls);
    const before = openSockets();
    for (let count = 0; count < 50; count += 1) {
      (await openBurstSocket('127.0.0.1', 0, () => undefined, { calls })).close();
      await expect(openBurstSocket('127.0.0.1', taken.port, () => undefined, { calls })).rejects.toMatchObject({
        code: 'EADDRINUSE',
      });
    }
    expect(openSockets()).toBe(before);
  });

  it('does not share its port, even with a program that allows it', async () => {
    const socket = await burstSocket(() => undefined, calls);
    const sharer = createSocket({ type: 'udp4', reuseAddr: true });
    onTestFinished(() => void sharer.close());
    const failed = once(sharer, 'error');
    sharer.bind(socket.port, '127.0.0.1');
    expect(await failed).toMatchObject([{ code: 'EADDRINUSE' }]);
  });

  it('rejects a foreign address, and text that is no address', async () => {
    const open = (address: string) => openBurstSocket(address, 0, () => undefined, { calls });
    await expect(open('192.0.2.1')).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' });
    await expect(open('somewhere')).rejects.toThrow('not an IPv4 address: somewhere');
  });
});
