import { constants } from 'node:os';
import koffi from 'koffi';
import { describe, expect, it } from 'vitest';
import { parseIpv4 } from '../../../appliance/domain/ipv4.ts';
import { mustParse } from '../../../appliance/domain/parsed.ts';
import { type BatchCalls, batchCalls } from '../../../appliance/net/udp/batched-socket.ts';
import { endpointOf } from '../../../appliance/net/udp/endpoint.ts';
import { burstSocket, bytes, peer, text } from './burst-rig.ts';

const kernel = batchCalls() as BatchCalls;
const numbered = (count: number) => Array.from({ length: count }, (_, at) => String(at));

/** The kernel, with `sendmmsg` replaced and counted. */
function sendingWith(sendmmsg: BatchCalls['sendmmsg']) {
  const batches: number[] = [];
  const calls: BatchCalls = {
    ...kernel,
    sendmmsg: (fd, headers, count, flags) => {
      batches.push(count);
      return sendmmsg(fd, headers, count, flags);
    },
  };
  return { calls, batches };
}

const failingWith = (errno: number): number => {
  koffi.errno(errno);
  return -1;
};

describe('a socket that sends in batches', () => {
  it('sends the datagrams of one turn with one call', async () => {
    const { calls, batches } = sendingWith(kernel.sendmmsg);
    const socket = await burstSocket(() => undefined, calls);
    const peers = await Promise.all(Array.from({ length: 40 }, peer));
    for (const one of peers) socket.send(bytes('hello'), one.endpoint);
    expect(batches).toEqual([]);
    for (const one of peers) await one.got(1);
    expect(batches).toEqual([40]);
  });

  it('continues after a partial send', async () => {
    const { calls } = sendingWith((fd, headers, count, flags) =>
      kernel.sendmmsg(fd, headers, Math.min(count, 7), flags),
    );
    const socket = await burstSocket(() => undefined, calls);
    const peers = await Promise.all([peer(), peer()]);
    for (const content of numbered(100)) for (const one of peers) socket.send(bytes(content), one.endpoint);
    for (const one of peers) expect(await one.got(100)).toEqual(numbered(100));
  });

  it('waits while the kernel buffer is full, loses nothing and keeps the order', async () => {
    let full = true;
    const { calls, batches } = sendingWith((fd, headers, count, flags) =>
      full ? failingWith(constants.errno.EAGAIN) : kernel.sendmmsg(fd, headers, count, flags),
    );
    const socket = await burstSocket(() => undefined, calls);
    const one = await peer();
    for (const content of numbered(100)) socket.send(bytes(content), one.endpoint);
    expect(await one.got(100)).toEqual(numbered(100));
    full = false;
    batches.length = 0;
    socket.send(bytes('again'), one.endpoint);
    expect((await one.got(101)).at(-1)).toBe('again');
    expect(batches).toEqual([1]);
  });

  it('joins datagrams to one peer, and they arrive unchanged', async () => {
    const { calls, batches } = sendingWith(kernel.sendmmsg);
    const socket = await burstSocket(() => undefined, calls);
    const [one, other] = [await peer(), await peer()];
    const window = numbered(16).map((at) => at.repeat(1472).slice(0, 1472));
    const ends = [...window, 'short', 'longer again', '', 'short'];
    for (const content of ends) socket.send(bytes(content), one.endpoint);
    socket.send(bytes('to the other'), other.endpoint);
    for (const content of window) socket.send(bytes(content), one.endpoint);
    expect(await one.got(36)).toEqual([...ends, ...window]);
    expect(await other.got(1)).toEqual(['to the other']);
    // The window with its short end, 'longer again', the empty one, 'short', the other's, the second window.
    expect(batches).toEqual([6]);
  });

  it.each(['EIO', 'EINVAL', 'EMSGSIZE'] as const)('sends one by one when the kernel cannot join (%s)', async (code) => {
    let refused = 0;
    const { calls, batches } = sendingWith((fd, headers, count, flags) => {
      if (refused > 0) return kernel.sendmmsg(fd, headers, count, flags);
      refused += 1;
      return failingWith(constants.errno[code]);
    });
    const socket = await burstSocket(() => undefined, calls);
    const one = await peer();
    for (const content of numbered(10)) socket.send(bytes(content), one.endpoint);
    expect(await one.got(10)).toEqual(numbered(10));
    for (const content of numbered(10)) socket.send(bytes(content), one.endpoint);
    expect(await one.got(20)).toEqual([...numbered(10), ...numbered(10)]);
    expect(batches).toEqual([1, 10]);
  });

  it('drops only the datagram that cannot be sent', async () => {
    const socket = await burstSocket(() => undefined);
    const one = await peer();
    // The kernel requires SO_BROADCAST, which this socket does not have.
    const broadcast = endpointOf({ address: mustParse(parseIpv4('255.255.255.255')), port: 9 });
    socket.send(bytes('before'), one.endpoint);
    socket.send(bytes('to all'), broadcast);
    socket.send(bytes('after'), one.endpoint);
    expect(await one.got(2)).toEqual(['before', 'after']);
  });
});

describe.each([
  ['many at a time', undefined],
  ['one at a time', null],
] as const)('a socket that sends %s', (_, calls) => {
  it('neither receives from nor sends to port zero, and continues', async () => {
    const got: string[] = [];
    const socket = await burstSocket((content) => got.push(text(content)), calls);
    const one = await peer();
    const portZero = endpointOf({ address: mustParse(parseIpv4('127.0.0.1')), port: 0 });
    // Two datagrams of one length to one peer would be joined, and rejected as one.
    for (const content of ['one', 'two']) socket.send(bytes(content), portZero);
    socket.send(bytes('after'), one.endpoint);
    for (const content of ['one', 'two']) socket.send(bytes(content), portZero);
    expect(await one.got(1)).toEqual(['after']);
    expect(got).toEqual([]);
  });
});

describe('a socket that receives in batches', () => {
  it('handles arrived datagrams at once on receive()', async () => {
    const got: string[] = [];
    const socket = await burstSocket((content) => got.push(text(content)));
    const one = await peer();
    for (const content of numbered(100)) one.send(content, socket);
    expect(got).toEqual([]);
    // Within this turn of the loop; on a busy machine the kernel may deliver some of them a moment later.
    const deadline = performance.now() + 30_000;
    do socket.receive();
    while (got.length < 100 && performance.now() < deadline);
    expect(got).toEqual(numbered(100));
  });

  it('does not start a burst within a burst', async () => {
    const got: string[] = [];
    const all = Promise.withResolvers<void>();
    const socket = await burstSocket((content) => {
      got.push(`${text(content)} begins`);
      socket.receive();
      got.push(`${text(content)} ends`);
      if (got.length === 4) all.resolve();
    });
    const one = await peer();
    one.send('a', socket);
    one.send('b', socket);
    await all.promise;
    expect(got).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  });

  it('drops a datagram that is longer than a slot, first of its burst or not', async () => {
    const got: number[] = [];
    const all = Promise.withResolvers<void>();
    const socket = await burstSocket((content) => {
      got.push(content.length);
      if (content.length === 1) all.resolve();
    });
    const one = await peer();
    for (const length of [3000, 2048, 2049, 1]) one.send('x'.repeat(length), socket);
    await all.promise;
    expect(got).toEqual([2048, 1]);
  });
});
