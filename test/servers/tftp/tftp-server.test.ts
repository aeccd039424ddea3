import { describe, expect, it } from 'vitest';
import type { TftpAnswer } from '../../../appliance/servers/tftp/tftp-resolver.ts';
import { ack, load, read, repeatsSince, sloppyClient } from './sloppy-client.ts';
import { LOADER, openSockets, startServer } from './tftp-rig.ts';

describe.each([
  ['with threads for transfers', {}],
  ['with a port for transfers', { transferPorts: { from: 43_000, to: 43_999 } }],
  ['with one port for everything', { singlePort: true }],
])('the TFTP server %s', (_how, settings) => {
  it('sends a file without options in blocks of 512', async () => {
    const rig = await startServer(settings);
    const mayRepeat = repeatsSince();
    expect((await load(await sloppyClient(), rig.port, 'snponly.efi')).equals(LOADER)).toBe(true);
    const [note] = await rig.noted('tftp.completed');
    expect(note?.data).toMatchObject({ file: 'snponly.efi', bytes: LOADER.length, blockSize: 512 });
    expect(note?.data).toHaveProperty('resent', expect.toSatisfy(mayRepeat));
    expect(rig.server.transfersUnderWay).toBe(0);
  });

  it('continues the same transfer when the request arrives twice', async () => {
    const { port, server } = await startServer(settings);
    const client = await sloppyClient();
    client.send(read('snponly.efi', { tsize: '0' }), port);
    const first = await client.next();
    client.send(read('snponly.efi', { tsize: '0' }), port);
    const second = await client.next();
    expect(second).toEqual(first);
    expect(first.packet).toEqual({ op: 'optionAck', options: new Map([['tsize', String(LOADER.length)]]) });
    expect(server.transfersUnderWay).toBe(1);
  });

  it('does not treat a size probe as a failure', async () => {
    const rig = await startServer(settings);
    const client = await sloppyClient();
    client.send(read('snponly.efi', { tsize: '0', blksize: '1468', windowsize: '4' }), rig.port);
    const { from } = await client.next();
    client.send({ op: 'error', code: 8, message: 'User aborted the transfer' }, from);
    await rig.noted('tftp.probe');
    expect(await load(client, rig.port, 'snponly.efi', { blksize: '1468' })).toHaveLength(LOADER.length);
    expect(client.unread()).toBe(0);
  });

  it('refuses a missing file at once, and records its name', async () => {
    const rig = await startServer(settings);
    const client = await sloppyClient();
    client.send(read('snponli.efi'), rig.port);
    expect((await client.next()).packet).toEqual({ op: 'error', code: 1, message: 'file not found' });
    const [note] = await rig.noted('tftp.not-found');
    expect(note?.data).toMatchObject({ file: 'snponli.efi', why: 'no such file (did you mean snponly.efi?)' });
  });

  it('refuses writes, mail mode and malformed requests', async () => {
    const { port, server } = await startServer(settings);
    const client = await sloppyClient();
    client.send({ op: 'write', fileName: 'snponly.efi', mode: 'octet', options: new Map() }, port);
    expect((await client.next()).packet).toMatchObject({ op: 'error', code: 2 });
    client.send({ op: 'read', fileName: 'snponly.efi', mode: 'mail', options: new Map() }, port);
    expect((await client.next()).packet).toMatchObject({ op: 'error', code: 4 });
    client.send(Uint8Array.of(0, 1, 65, 65), port);
    expect((await client.next()).packet).toMatchObject({ op: 'error', code: 4 });
    client.send(ack(7), port);
    expect((await client.next()).packet).toMatchObject({ op: 'error', code: 5 });
    // None of these is answered; the request behind them is.
    for (const noise of [[], [0], [0, 9, 1], [0, 5, 0, 0]]) client.send(Uint8Array.from(noise), port);
    client.send(read('nothing'), port);
    expect((await client.next()).packet).toMatchObject({ op: 'error', code: 1 });
    expect(server.transfersUnderWay).toBe(0);
  });

  it('starts a new transfer when a machine that was reset requests another file from the same port', async () => {
    const rig = await startServer(settings);
    const client = await sloppyClient();
    client.send(read('snponly.efi'), rig.port);
    const { from } = await client.next();
    client.send(ack(1), from);
    await client.next();
    expect(await load(client, rig.port, 'ipxe.efi')).toHaveLength(20_000);
    await rig.noted('tftp.aborted');
    await rig.noted('tftp.completed');
  });
});

describe('the port of a transfer', () => {
  it('is not the request port, and accepts packets only from the client', async () => {
    const { port } = await startServer();
    const [client, other] = [await sloppyClient(), await sloppyClient()];
    client.send(read('snponly.efi'), port);
    const { from } = await client.next();
    expect(from).not.toBe(port);
    other.send(ack(1), from);
    expect((await other.next()).packet).toMatchObject({ op: 'error', code: 5 });
    client.send(ack(1), from);
    expect((await client.next()).packet).toMatchObject({ op: 'data', block: 2 });
  });

  it('is the request port in single-port mode', async () => {
    const { port } = await startServer({ singlePort: true });
    const client = await sloppyClient();
    client.send(read('snponly.efi'), port);
    expect((await client.next()).from).toBe(port);
  });

  it('is the same for concurrent clients, whose transfers are kept apart', async () => {
    const { port, server } = await startServer({ perClient: 8 });
    const clients = await Promise.all(Array.from({ length: 8 }, sloppyClient));
    const ports = new Set<number>();
    for (const client of clients) {
      client.send(read('snponly.efi'), port);
      ports.add((await client.next()).from);
    }
    expect(ports.size).toBe(1);
    const [shared = 0] = ports;
    for (const [at, client] of clients.entries()) {
      for (let block = 1; block <= at; block += 1) {
        client.send(ack(block), shared);
        expect((await client.next()).packet).toMatchObject({ op: 'data', block: block + 1 });
      }
    }
    expect(server.transfersUnderWay).toBe(8);
  });

  it('is the first free one of the configured range; with all in use the server does not start', async () => {
    // Below the kernel's ephemeral ports, and different from those of tests that run at the same time.
    const first = 16_384 + 2 * (process.pid & 0x1fff);
    const transferPorts = { from: first, to: first + 1 };
    for (const expected of [first, first + 1]) {
      const rig = await startServer({ transferPorts });
      const client = await sloppyClient();
      client.send(read('snponly.efi'), rig.port);
      expect((await client.next()).from).toBe(expected);
    }
    const before = openSockets();
    await expect(startServer({ transferPorts })).rejects.toMatchObject({
      code: 'service_unavailable',
      message: `no port for transfers: all 2 from ${first} to ${first + 1} of 127.0.0.1 are in use`,
    });
    expect(openSockets()).toBe(before);
  });
});

describe('a client that loads one file after the other from the same port', () => {
  it('gets no ERROR for a repeated last ACK', async () => {
    const rig = await startServer();
    const client = await sloppyClient();
    client.send(read('ipxe.efi', { blksize: '1468' }), rig.port);
    const { from } = await client.next();
    client.send(ack(0), from);
    for (let block = 1; block <= 14; block += 1) {
      await client.next();
      client.send(ack(block), from);
    }
    await rig.noted('tftp.completed');
    client.send(ack(14), from);
    client.send(read('snponly.efi'), rig.port);
    expect((await client.next()).packet).toMatchObject({ op: 'data', block: 1 });
    expect(client.unread()).toBe(0);
  });

  it('ends the first before it begins the second, although the last ACK arrives on the other socket', async () => {
    const rig = await startServer();
    const [client, other] = [await sloppyClient(), await sloppyClient()];
    client.send(read('snponly.efi', { tsize: '0' }), rig.port);
    const { from } = await client.next();
    // The request port becomes readable first.
    other.send(read('ipxe.efi'), rig.port);
    client.send({ op: 'error', code: 8, message: 'User aborted the transfer' }, from);
    client.send(read('ipxe.efi'), rig.port);
    expect((await client.next()).packet).toMatchObject({ op: 'data', block: 1 });
    await rig.noted('tftp.probe');
    expect(rig.notes.map(({ kind }) => kind).filter((kind) => kind !== 'tftp.begun')).toEqual(['tftp.probe']);
  });
});

describe('starting and stopping', () => {
  it('reports the cause when the port is in use', async () => {
    const { port } = await startServer();
    await expect(startServer({ port })).rejects.toMatchObject({
      code: 'service_unavailable',
      message: `cannot listen on 127.0.0.1:${port}/udp: another program listens there already`,
    });
  });

  it('sends an ERROR to the clients of running transfers when it stops', async () => {
    const rig = await startServer();
    const client = await sloppyClient();
    client.send(read('snponly.efi'), rig.port);
    await client.next();
    await rig.server.stop();
    expect((await client.next()).packet).toMatchObject({ op: 'error', message: 'the server is stopping' });
    expect(rig.server.transfersUnderWay).toBe(0);
  });

  it('stops only after the resolver has answered pending requests', async () => {
    const called = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<TftpAnswer>();
    const rig = await startServer(
      {},
      {
        answer: () => {
          called.resolve();
          return answered.promise;
        },
      },
    );
    const client = await sloppyClient();
    client.send(read('grub/grub.cfg'), rig.port);
    await called.promise;
    let hasStopped = false;
    const stopping = rig.server.stop().then(() => {
      hasStopped = true;
    });
    await client.close();
    expect([hasStopped, rig.server.transfersUnderWay]).toEqual([false, 1]);
    answered.resolve({ name: 'grub/grub.cfg', mac: null, resolved: null, reply: { do: 'ignore', why: '' } });
    await stopping;
    expect(rig.server.transfersUnderWay).toBe(0);
  });
});
