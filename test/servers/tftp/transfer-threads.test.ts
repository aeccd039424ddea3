import { rmSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { put, temporaryFolder } from '../../assets/tiny-files.ts';
import { ack, load, read, sloppyClient } from './sloppy-client.ts';
import { deskFor } from './tftp-desk-for.ts';
import { LOADER, openSockets, startServer } from './tftp-rig.ts';

describe('threads that carry transfers', () => {
  it('come with the load, each with a port of its own, and serve everybody right', async () => {
    const rig = await startServer({ perClient: 100 });
    const clients = await Promise.all(Array.from({ length: 40 }, () => sloppyClient()));
    const ports = new Set<number>();
    for (const client of clients) {
      client.send(read('snponly.efi', { tsize: '0' }), rig.port);
      const { from } = await client.next();
      ports.add(from);
      client.send({ op: 'error', code: 0, message: 'closed' }, from);
    }
    await rig.noted('tftp.probe', 40);
    const loaded = await Promise.all(
      clients.map((client) => load(client, rig.port, 'snponly.efi', { blksize: '1468' })),
    );
    expect(loaded.every((bytes) => bytes.equals(LOADER))).toBe(true);
    await rig.noted('tftp.completed', 40);
    for (const client of clients) {
      client.send(read('snponly.efi', { tsize: '0' }), rig.port);
      ports.add((await client.next()).from);
    }
    expect(ports.size).toBeGreaterThan(1);
  });

  it('end when nobody asks any more, and come again when somebody does', async () => {
    const rig = await startServer({ threadRestMs: 50 });
    const before = openSockets();
    for (const count of [1, 2]) {
      const client = await sloppyClient();
      expect(await load(client, rig.port, 'ipxe.efi')).toHaveLength(20_000);
      await rig.noted('tftp.completed', count);
      await client.close();
      await expect.poll(openSockets).toBe(before);
    }
  });

  it('give up what a client that was reset has forgotten when it asks once more', { timeout: 20_000 }, async () => {
    const rig = await startServer();
    for (let count = 0; count < 4; count += 1) {
      const client = await sloppyClient();
      client.send(read('snponly.efi', { tsize: '0', timeout: '20' }), rig.port);
      const { from } = await client.next();
      client.send(ack(0), from);
      await client.next();
    }
    const fifth = await sloppyClient();
    fifth.send(read('snponly.efi'), rig.port);
    expect((await fifth.next()).packet).toMatchObject({ message: expect.stringContaining('too many') });
    await new Promise((passed) => setTimeout(passed, 3100));
    expect(await load(fifth, rig.port, 'snponly.efi')).toHaveLength(LOADER.length);
    const notes = await rig.noted('tftp.error', 4);
    expect(notes[0]?.data).toMatchObject({ reason: 'the client began other transfers instead' });
  });

  it('tell the client, and the trail, when the file is gone', async () => {
    const file = put(temporaryFolder(), 'initrd', Buffer.alloc(1024 * 1024));
    const rig = await startServer({ memoryBytes: 1024 }, deskFor({ file, size: 1024 * 1024 }));
    rmSync(file);
    const client = await sloppyClient();
    client.send(read('initrd'), rig.port);
    expect((await client.next()).packet).toMatchObject({ op: 'error', message: 'the file cannot be read' });
    const [note] = await rig.noted('tftp.error');
    expect(note?.data).toMatchObject({ reason: expect.stringContaining('ENOENT') });
    expect(rig.server.transfersUnderWay).toBe(0);
  });

  it('end with the server, whose clients are told, though it is asked to stop in the middle of a start', async () => {
    const before = openSockets();
    const rig = await startServer();
    const client = await sloppyClient();
    client.send(read('snponly.efi'), rig.port);
    await expect.poll(() => rig.server.transfersUnderWay).toBe(1);
    await rig.server.stop();
    await client.close();
    expect(openSockets()).toBeLessThanOrEqual(before);
    expect(rig.server.transfersUnderWay).toBe(0);
  });
});
