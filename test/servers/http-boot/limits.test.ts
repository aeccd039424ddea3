import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { Fetcher } from '../../process/many-fetchers.ts';
import { BootServerRig, patternBytes } from './boot-server-rig.ts';

let rig: BootServerRig;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await rig.stop();
});

const connected = (localAddress = '127.0.0.1'): Socket => {
  const socket = rig.connect(localAddress);
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
};

const all = async (socket: Socket): Promise<string> => {
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('latin1');
};

const request = (path: string, more = ''): string => `GET ${path} HTTP/1.1\r\nHost: here\r\n${more}\r\n`;
/** More than the kernel buffers for a client that reads nothing. */
const BIG = 24 * 1024 * 1024;
const MANY = 40;

/** One file in memory, and one from the disk because it does not fit into memory with the first. */
const shelveBigOnes = (): void => {
  rig.shelve('images/held/disk', patternBytes(BIG));
  rig.shelveSparse('images/streamed/disk', BIG);
};

const many = (): Socket[] =>
  Array.from({ length: MANY }, (_, at) => {
    const socket = connected();
    socket.write(request(at % 2 === 0 ? '/boot/held/disk' : '/boot/streamed/disk'));
    return socket;
  });

const descriptors = (): number => readdirSync('/proc/self/fd').length;

const nothingIsLeft = async (before: number): Promise<void> => {
  await expect.poll(() => rig.server.usage).toEqual({ requests: 0, files: 1, heldBytes: BIG });
  // The cached file stays open, on the disk and in memory.
  await expect.poll(descriptors).toBeLessThanOrEqual(before + 2);
};

describe('the boot server under load', () => {
  it('answers 503 with Retry-After when there are too many requests, and serves again afterwards', async () => {
    rig = await BootServerRig.start({ mostRequests: 1 });
    rig.shelve('images/big/disk', patternBytes(BIG));
    rig.shelve('ipxe.efi', 'loader');
    const slow = connected();
    slow.write(request('/boot/big/disk'));
    await once(slow, 'readable');
    const refused = await fetch(rig.url('/boot/loader/ipxe.efi'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '3']);
    expect(await refused.json()).toMatchObject({ code: 'service_unavailable' });
    slow.destroy();
    await rig.noted('http.served');
    await expect.poll(() => rig.server.usage.requests).toBe(0);
    expect((await fetch(rig.url('/boot/loader/ipxe.efi'))).status).toBe(200);
  });

  it('limits the requests of one address, tells the client, and logs it', async () => {
    rig = await BootServerRig.start({ mostPerLoopback: 3 });
    rig.shelve('images/big/disk', patternBytes(BIG));
    rig.shelve('ipxe.efi', 'loader');
    const readers = [connected(), connected(), connected()];
    for (const slow of readers) {
      slow.write(request('/boot/big/disk'));
      await once(slow, 'readable');
    }
    const refused = await fetch(rig.url('/boot/loader/ipxe.efi'));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '3']);
    expect(await refused.json()).toMatchObject({
      code: 'service_unavailable',
      message: 'this address already has 3 requests under way; retry',
    });
    expect(rig.warnings).toEqual([{ address: '127.0.0.1', refused: 1 }]);

    const other = connected('127.0.0.2');
    other.write(request('/boot/loader/ipxe.efi', 'Connection: close\r\n'));
    expect(await all(other)).toMatch(/^HTTP\/1\.1 200 .*loader$/s);

    readers[0]?.destroy();
    await rig.noted('http.served', 2);
    await expect.poll(() => rig.server.usage.requests).toBe(2);
    expect((await fetch(rig.url('/boot/loader/ipxe.efi'))).status).toBe(200);
  });

  it('limits the idle connections of one address', async () => {
    rig = await BootServerRig.start({ mostPerLoopback: 2 });
    rig.shelve('ipxe.efi', 'loader');
    const idle = [connected(), connected(), connected(), connected()];
    for (const socket of idle) {
      socket.write(request('/boot/loader/ipxe.efi'));
      await once(socket, 'data');
    }
    const fifth = connected();
    expect(await all(fifth).catch((error: Error) => error.message)).toMatch(/^$|ECONNRESET/);
    const other = connected('127.0.0.2');
    other.write(request('/boot/loader/ipxe.efi', 'Connection: close\r\n'));
    expect(await all(other)).toMatch(/^HTTP\/1\.1 200 /);
    idle[0]?.destroy();
    await expect
      .poll(() =>
        fetch(rig.url('/boot/loader/ipxe.efi')).then(
          ({ status }) => status,
          () => 0,
        ),
      )
      .toBe(200);
  });

  it('disconnects clients that read nothing, and records how much each got', async () => {
    // Enough for every client to send its request on a busy machine: one that does not is cut off before it is served.
    rig = await BootServerRig.start({ stallMs: 1500, memoryBudget: BIG });
    shelveBigOnes();
    const before = descriptors();
    for (const socket of many()) socket.pause();
    for (const { data } of await rig.noted('http.served', MANY)) {
      const { bytes, of, complete } = data as { bytes: number; of: number; complete: boolean };
      expect(complete).toBe(false);
      expect(bytes).toBeLessThan(of);
    }
    // The clients have not noticed yet: their sockets are still open.
    await nothingIsLeft(before + MANY);
  });

  it('serves a slow reader to the end as long as it reads', async () => {
    const stallMs = 2000;
    rig = await BootServerRig.start({ stallMs });
    const slow = new Fetcher(new URL(rig.url('/boot/big/disk')), rig.shelve('images/big/disk', patternBytes(BIG)));
    slow.ask();
    const began = performance.now();
    // About 5 MB/s.
    await slow.takeSlowly(BIG, 128 * 1024, 25);
    expect(slow.hasAll).toBe(true);
    expect(performance.now() - began).toBeGreaterThan(2 * stallMs);
    expect((await rig.noted('http.served'))[0]?.data).toMatchObject({ complete: true, bytes: BIG });
    slow.leave();
  });

  it('releases clients that half-close the connection during a transfer', async () => {
    rig = await BootServerRig.start({ memoryBudget: BIG });
    shelveBigOnes();
    const before = descriptors();
    const taken = many().map(async (half) => {
      await once(half, 'readable');
      half.end();
      return (await all(half)).length;
    });
    for (const length of await Promise.all(taken)) expect(length).toBeLessThan(BIG);
    for (const { data } of await rig.noted('http.served', MANY)) expect(data).toMatchObject({ complete: false });
    await nothingIsLeft(before);
  });

  it('does not wait for headers that arrive byte by byte', async () => {
    rig = await BootServerRig.start({ requestMs: 200 });
    const loris = connected();
    loris.write('GET /boot/loader/ipxe.efi HTTP/1.1\r\nHost: h');
    expect(await all(loris)).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  it('refuses endless headers, and input that is not HTTP, with the error envelope', async () => {
    rig = await BootServerRig.start();
    const long = connected();
    long.write(request('/boot/loader/ipxe.efi', `X: ${'y'.repeat(20_000)}\r\n`));
    expect(await all(long)).toMatch(/^HTTP\/1\.1 431 .*"code":"invalid_request"/s);
    const other = connected();
    other.write('\x16\x03\x01 not http\r\n\r\n');
    expect(await all(other)).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
  });

  it('keeps a connection open between requests, as iPXE and EDK2 use it', async () => {
    rig = await BootServerRig.start();
    rig.shelve('ipxe.efi', 'loader');
    const socket = connected();
    const until = async (text: string, pattern: RegExp): Promise<string> => {
      let got = text;
      while (!pattern.test(got)) got += String((await once(socket, 'data'))[0]);
      return got;
    };
    socket.write('HEAD /boot/loader/ipxe.efi HTTP/1.1\r\nHost: h\r\n\r\n');
    const head = await until('', /\r\n\r\n$/);
    expect(head).toMatch(/Keep-Alive: timeout=(?:6[5-9]|[7-9]\d)\r\n/);
    socket.write(request('/boot/loader/ipxe.efi'));
    expect(await until('', /loader$/)).toMatch(/^HTTP\/1\.1 200 OK/);
  });

  it('stops during a transfer without waiting forever for the client', async () => {
    rig = await BootServerRig.start();
    rig.shelve('images/big/disk', patternBytes(BIG));
    const slow = connected();
    slow.pause();
    slow.write(request('/boot/big/disk'));
    await expect.poll(() => rig.server.usage.requests).toBe(1);
    await rig.server.stop();
    expect(rig.server.usage).toEqual({ requests: 0, files: 0, heldBytes: 0 });
  });

  it('reports why it cannot listen', async () => {
    rig = await BootServerRig.start();
    const second = new BootServerRig({ port: rig.port });
    await expect(second.server.start()).rejects.toThrow('another program listens there already');
    await second.stop();
  });
});
