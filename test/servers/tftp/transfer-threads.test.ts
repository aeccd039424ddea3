import { rmSync } from 'node:fs';
import { describe, expect, it, onTestFinished } from 'vitest';
import { endpointFrom } from '../../../appliance/net/udp/endpoint.ts';
import { TFTP_DEFAULTS } from '../../../appliance/servers/tftp/tftp-settings.ts';
import type { TransferOutcome } from '../../../appliance/servers/tftp/tftp-transfer.ts';
import { TransferThreads } from '../../../appliance/servers/tftp/transfer-threads.ts';
import type { TransferEvents, TransferOrder } from '../../../appliance/servers/tftp/transfers.ts';
import { put, temporaryFolder } from '../../assets/tiny-files.ts';
import { ack, load, read, sloppyClient } from './sloppy-client.ts';
import { resolverFor } from './tftp-resolver-for.ts';
import { LOADER, openSockets, startServer } from './tftp-rig.ts';

const ORDER: TransferOrder = {
  client: endpointFrom(0x7f00_0001, 9),
  request: new Uint8Array(),
  mode: 'octet',
  terms: { blockSize: 512, windowSize: 1, timeoutSeconds: null, acknowledged: new Map() },
  content: { bytes: new Uint8Array(1000) },
  firstReplies: 5,
};

const eventsInto = (ends: TransferOutcome[]): TransferEvents => ({
  onStall: () => undefined,
  onEnd: (outcome) => void ends.push(outcome),
});

function threadsAt(address: string) {
  const failures: string[] = [];
  const threads = new TransferThreads({
    ...TFTP_DEFAULTS,
    address,
    onFailure: ({ message }) => failures.push(message),
  });
  onTestFinished(() => threads.stop('the test ends'));
  return { threads, failures };
}

describe('transfer threads', () => {
  it('are started with the load, each with a port of its own, and serve every client correctly', async () => {
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
    // A thread takes a moment to start; until then the first one runs all transfers.
    const oneMore = await sloppyClient();
    await expect
      .poll(async () => {
        oneMore.send(read('snponly.efi', { tsize: '0' }), rig.port);
        const { from } = await oneMore.next();
        oneMore.send({ op: 'error', code: 0, message: 'closed' }, from);
        return ports.add(from).size;
      })
      .toBeGreaterThan(1);
  });

  it('end when they are idle, and are started again on demand', async () => {
    const rig = await startServer({ threadIdleMs: 50 });
    const before = openSockets();
    for (const count of [1, 2]) {
      const client = await sloppyClient();
      expect(await load(client, rig.port, 'ipxe.efi')).toHaveLength(20_000);
      await rig.noted('tftp.completed', count);
      await client.close();
      await expect.poll(openSockets).toBe(before);
    }
  });

  it('end the abandoned transfers of a client that was reset when it sends a new request', async () => {
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
    await expect
      .poll(
        async () => {
          fifth.send(read('snponly.efi', { tsize: '0' }), rig.port);
          const { packet, from } = await fifth.next();
          if (packet.op === 'optionAck') fifth.send({ op: 'error', code: 0, message: 'closed' }, from);
          return packet.op;
        },
        { interval: 250 },
      )
      .toBe('optionAck');
    expect(await load(fifth, rig.port, 'snponly.efi')).toHaveLength(LOADER.length);
    const notes = await rig.noted('tftp.error', 4);
    expect(notes[0]?.data).toMatchObject({ reason: 'the client started other transfers' });
  });

  it('send an ERROR and record it when the file is gone', async () => {
    const file = put(temporaryFolder(), 'initrd', Buffer.alloc(1024 * 1024));
    const rig = await startServer({ memoryBytes: 1024 }, resolverFor({ file, size: 1024 * 1024 }));
    rmSync(file);
    const client = await sloppyClient();
    client.send(read('initrd'), rig.port);
    expect((await client.next()).packet).toMatchObject({ op: 'error', message: 'the file cannot be read' });
    const [note] = await rig.noted('tftp.error');
    expect(note?.data).toMatchObject({ reason: expect.stringContaining('ENOENT') });
    expect(rig.server.transfersUnderWay).toBe(0);
  });

  it('report the transfers of a thread that fails, and another thread replaces it', async () => {
    const { threads, failures } = threadsAt('127.0.0.1');
    const ends: TransferOutcome[] = [];
    const transfer = await threads.begin(ORDER, eventsInto(ends));
    await threads.begin(ORDER, eventsInto(ends));
    // This cannot come from a network: it stands for a bug of ours.
    transfer.onRequestPort({ slice: () => null } as unknown as Uint8Array, () => undefined);
    await expect.poll(() => ends.length).toBe(2);
    expect(ends[0]).toMatchObject({ result: 'error', reason: 'the thread of this transfer has failed' });
    expect(failures).toEqual([expect.stringContaining('null')]);
    const next = await threads.begin(ORDER, eventsInto(ends));
    next.abandon('enough');
    await expect.poll(() => ends.at(2)).toMatchObject({ reason: 'enough' });
  });

  it('report that they cannot start, and are retried with the next transfer', async () => {
    const { threads } = threadsAt('192.0.2.1');
    for (const _again of [1, 2]) {
      await expect(threads.begin(ORDER, eventsInto([]))).rejects.toThrow('EADDRNOTAVAIL');
    }
  });

  it('end with the server, whose clients get an ERROR, also when it stops during the start of a thread', async () => {
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
