import { writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { put, temporaryFolder } from '../../assets/tiny-files.ts';
import { ack, load, read, sloppyClient } from './sloppy-client.ts';
import { resolverFor } from './tftp-resolver-for.ts';
import { LOADER, openSockets, startServer } from './tftp-rig.ts';

const largeFile = (bytes: Buffer) => ({ file: put(temporaryFolder(), 'initrd', bytes), size: bytes.length });

const PLACES = [
  ['in threads of their own', {}],
  ['in the thread of the server', { transferPorts: { from: 42_000, to: 42_999 } }],
] as const;

describe.each(PLACES)('the limits of the TFTP server, transfers %s', (_where, place) => {
  it('allow one address four concurrent transfers, and a fifth when one has ended', async () => {
    const rig = await startServer(place);
    const clients = [];
    for (let count = 0; count < 4; count += 1) {
      const client = await sloppyClient();
      client.send(read('snponly.efi', { tsize: '0' }), rig.port);
      const answer = await client.next();
      client.send(ack(0), answer.from);
      await client.next();
      clients.push({ client, ...answer });
    }
    const fifth = await sloppyClient();
    fifth.send(read('snponly.efi'), rig.port);
    expect((await fifth.next()).packet).toMatchObject({ op: 'error', message: expect.stringContaining('too many') });
    clients[0]?.client.send({ op: 'error', code: 0, message: 'closed' }, clients[0].from);
    await rig.noted('tftp.probe');
    expect(await load(fifth, rig.port, 'snponly.efi')).toHaveLength(LOADER.length);
  });

  it('apply to all addresses together', async () => {
    const { port } = await startServer({ ...place, atOnce: 1 });
    const [first, second] = [await sloppyClient(), await sloppyClient()];
    first.send(read('snponly.efi'), port);
    const { from } = await first.next();
    first.send(ack(1), from);
    await first.next();
    second.send(read('snponly.efi'), port);
    expect((await second.next()).packet).toMatchObject({ op: 'error', message: 'too many transfers at once (1)' });
  });

  it('end a transfer whose client stopped answering, whatever timeout it requested', async () => {
    const rig = await startServer({ ...place, idleMs: 200 });
    const client = await sloppyClient();
    client.send(read('snponly.efi', { timeout: '255' }), rig.port);
    const { from } = await client.next();
    client.send(ack(0), from);
    await client.next();
    const [note] = await rig.noted('tftp.timeout');
    expect(note?.data).toMatchObject({ reason: 'the client stopped answering', blocks: 0 });
    expect(rig.server.transfersUnderWay).toBe(0);
  });

  it('retransmit an unacknowledged block after one second', async () => {
    const { port } = await startServer(place);
    const client = await sloppyClient();
    client.send(read('snponly.efi'), port);
    const first = await client.next();
    expect(await client.next()).toEqual(first);
  });
});

describe.each(PLACES)('files that are too large for the cache, sent %s', (_where, place) => {
  const content = Buffer.alloc(3 * 1024 * 1024 + 17, 'piece by piece ');

  it.each([
    ['octet', { blksize: '1468', windowsize: '7' }],
    ['octet, block by block', { blksize: '1024' }],
  ])('arrive complete (%s)', async (_how, options) => {
    const asset = largeFile(content);
    const { port, noted } = await startServer({ ...place, memoryBytes: 1024 * 1024 }, resolverFor(asset));
    const client = await sloppyClient();
    expect((await load(client, port, 'initrd', options)).equals(content)).toBe(true);
    await noted('tftp.completed');
  });

  it('end with an ERROR when they were truncated meanwhile, cached or not', async () => {
    for (const memoryBytes of [1024 * 1024, 64 * 1024 * 1024]) {
      const asset = largeFile(content);
      const { port } = await startServer({ ...place, memoryBytes }, resolverFor(asset));
      writeFileSync(asset.file, content.subarray(0, 1024 * 1024 + 5));
      await expect(load(await sloppyClient(), port, 'initrd', { blksize: '1468' })).rejects.toThrow(/"op":"error"/);
    }
  });
});

describe.each(PLACES)('after a thousand transfers %s', (_where, place) => {
  it('no socket and no entry is left, whether they completed, were aborted or refused', async () => {
    const rig = await startServer({ ...place, perClient: 100 });
    const before = openSockets();
    for (let round = 0; round < 50; round += 1) {
      const clients = await Promise.all(Array.from({ length: 20 }, () => sloppyClient()));
      await Promise.all(
        clients.map(async (client, at) => {
          if (at % 4 === 0) await load(client, rig.port, 'ipxe.efi', { blksize: '1468' });
          else {
            client.send(read(at % 4 === 1 ? 'nothing' : 'snponly.efi', { tsize: '0' }), rig.port);
            const { from, packet } = await client.next();
            if (packet.op === 'optionAck') {
              if (at % 4 === 3) client.send(ack(0), from);
              client.send({ op: 'error', code: 0, message: 'closed' }, from);
            }
          }
        }),
      );
      await Promise.all(clients.map((client) => client.close()));
    }
    await rig.noted('tftp.completed', 250);
    await rig.noted('tftp.probe', 500);
    await rig.noted('tftp.not-found', 250);
    expect(rig.server.transfersUnderWay).toBe(0);
    await rig.server.stop();
    expect(openSockets()).toBeLessThan(before);
  });
});
