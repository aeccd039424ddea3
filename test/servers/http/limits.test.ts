import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
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
/** More than the kernel takes from us for a client that reads nothing. */
const BIG = 24 * 1024 * 1024;

describe('the boot server under pressure', () => {
  it('sends machines away with Retry-After when too many are served at once, and serves again afterwards', async () => {
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

  it('lets no single address take the place of the others, tells it so, and says it in the log', async () => {
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
      message: 'this address has 3 requests under way already; ask again',
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

  it('lets no single address keep connections that it does not use without end', async () => {
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

  it('gives up a client that takes nothing, and says how far it came', async () => {
    rig = await BootServerRig.start({ stallMs: 300 });
    rig.shelve('images/big/disk', patternBytes(BIG));
    const slow = connected();
    slow.pause();
    slow.write(request('/boot/big/disk'));
    const [note] = await rig.noted('http.served');
    expect(note?.data).toMatchObject({ asset: 'images/big/disk', of: BIG, complete: false });
    expect(note?.data).not.toMatchObject({ bytes: BIG });
    await expect.poll(() => rig.server.usage.requests).toBe(0);
  });

  it('serves a slow reader to the end as long as it reads', async () => {
    rig = await BootServerRig.start({ stallMs: 2000 });
    const bytes = rig.shelve('images/big/disk', patternBytes(BIG));
    const slow = connected();
    slow.write(request('/boot/big/disk', 'Connection: close\r\n'));
    let taken = 0;
    for await (const chunk of slow) {
      taken += (chunk as Buffer).length;
      if (taken % 7 === 0) await new Promise(setImmediate);
    }
    expect(taken).toBeGreaterThan(bytes.length);
    expect((await rig.noted('http.served'))[0]?.data).toMatchObject({ complete: true, bytes: BIG });
  });

  it('lets a client go that closes its side of the connection in the middle', async () => {
    rig = await BootServerRig.start();
    rig.shelve('images/big/disk', patternBytes(BIG));
    const half = connected();
    half.write(request('/boot/big/disk'));
    await once(half, 'readable');
    half.end();
    expect((await all(half)).length).toBeLessThan(BIG);
    expect((await rig.noted('http.served'))[0]?.data).toMatchObject({ complete: false });
    await expect.poll(() => rig.server.usage.requests).toBe(0);
  });

  it('does not wait for headers that trickle in', async () => {
    rig = await BootServerRig.start({ requestMs: 200 });
    const loris = connected();
    loris.write('GET /boot/loader/ipxe.efi HTTP/1.1\r\nHost: h');
    expect(await all(loris)).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  it('refuses headers without end, and what is not HTTP, in the envelope', async () => {
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

  it('stops in the middle of a transfer without waiting for the client for ever', async () => {
    rig = await BootServerRig.start();
    rig.shelve('images/big/disk', patternBytes(BIG));
    const slow = connected();
    slow.pause();
    slow.write(request('/boot/big/disk'));
    await expect.poll(() => rig.server.usage.requests).toBe(1);
    await rig.server.stop();
    expect(rig.server.usage).toEqual({ requests: 0, files: 0, heldBytes: 0 });
  });

  it('says in words why it cannot listen', async () => {
    rig = await BootServerRig.start();
    const second = new BootServerRig({ port: rig.port });
    await expect(second.server.start()).rejects.toThrow('something else listens there already');
    await second.stop();
  });
});
