import { setImmediate as turn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import type { TftpPacket } from '../../../appliance/codecs/tftp/packet.ts';
import { endpointFrom } from '../../../appliance/net/udp/endpoint.ts';
import { TFTP_DEFAULTS } from '../../../appliance/servers/tftp/tftp-settings.ts';
import { TransferThreads } from '../../../appliance/servers/tftp/transfer-threads.ts';
import { INPUTS } from '../../attack-tally.ts';
import { ack, load, read, sloppyClient } from './sloppy-client.ts';
import { LOADER, startServer } from './tftp-rig.ts';

const FLOOD = INPUTS.tftpServer / 9;
/** Fewer than a socket can buffer: all of them arrive. */
const AT_ONCE = 200;

const PLACES = [
  ['in threads of their own', {}],
  ['in the thread of the server', { transferPorts: { from: 44_000, to: 44_999 } }],
  ['from the port of the requests', { singlePort: true }],
] as const;

/** Packets on the request port that are forwarded to threads. */
function forwardedToThreads() {
  const post = vi.spyOn(Worker.prototype, 'postMessage');
  onTestFinished(() => post.mockRestore());
  return (): Uint8Array[] => post.mock.calls.flatMap(([message]) => (message.do === 'forward' ? [message.bytes] : []));
}

describe.each(PLACES)('a client that floods the request port, transfers %s', (_where, place) => {
  const request = read('snponly.efi', { tsize: '0' });

  it.for<[string, TftpPacket | Uint8Array]>([
    ['acknowledgements', ack(0x7777)],
    ['the same request', request],
    ['noise', Uint8Array.of(0, 9, 9, 9)],
  ])('with %s delays neither other clients nor the stop', async ([_what, packet], { task }) => {
    const rig = await startServer(place);
    const [noisy, other] = [await sloppyClient(), await sloppyClient()];
    noisy.send(request, rig.port);
    await noisy.next();
    for (let sent = 0; sent < FLOOD; sent += AT_ONCE) {
      for (let one = 0; one < AT_ONCE; one += 1) noisy.send(packet, rig.port);
      await turn();
    }
    task.meta.inputs = FLOOD;
    expect(await load(other, rig.port, 'snponly.efi', { blksize: '1468' })).toHaveLength(LOADER.length);
    await rig.noted('tftp.completed');
    expect(rig.server.transfersUnderWay).toBe(1);
    await rig.server.stop();
  });
});

describe('a transfer thread', () => {
  it('gets only read requests', async () => {
    const forwarded = forwardedToThreads();
    const rig = await startServer();
    const client = await sloppyClient();
    const request = read('snponly.efi');
    client.send(request, rig.port);
    const { from } = await client.next();
    for (let block = 1; block < 100; block += 1) client.send(ack(block), rig.port);
    client.send({ op: 'error', code: 0, message: 'not to the port that it loads from' }, rig.port);
    client.send({ op: 'write', fileName: 'snponly.efi', mode: 'octet', options: new Map() }, rig.port);
    client.send(request, rig.port);
    await expect.poll(forwarded).toEqual([new Uint8Array(encodeTftp(request))]);
    expect((await client.next()).packet).toMatchObject({ op: 'data', block: 1 });
    client.send(ack(1), from);
    expect((await client.next()).packet).toMatchObject({ op: 'data', block: 2 });
  });

  it('gets one request at a time, and the next when that one is answered', async () => {
    const forwarded = forwardedToThreads();
    const threads = new TransferThreads({ ...TFTP_DEFAULTS, address: '127.0.0.1', onFailure: () => undefined });
    onTestFinished(() => threads.stop('the test ends'));
    const client = await sloppyClient();
    const bytes = encodeTftp(read('snponly.efi'));
    const transfer = await threads.begin(
      {
        client: endpointFrom(0x7f00_0001, client.port),
        request: bytes,
        mode: 'octet',
        terms: { blockSize: 512, windowSize: 1, timeoutSeconds: null, acknowledged: new Map() },
        content: { bytes: new Uint8Array(1000) },
        firstReplies: 5,
      },
      { onStall: () => undefined, onEnd: () => undefined },
    );
    await client.next();
    for (let count = 0; count < FLOOD; count += 1) transfer.onRequestPort(bytes, () => undefined);
    expect(forwarded()).toHaveLength(1);
    await client.next();
    const over = Promise.withResolvers<void>();
    const other = encodeTftp(read('ipxe.efi'));
    await expect
      .poll(() => {
        transfer.onRequestPort(other, over.resolve);
        return forwarded().length;
      })
      .toBe(2);
    await over.promise;
    expect(client.unread()).toBe(0);
  });
});

describe.each(PLACES)('a client that only ever repeats its request, transfers %s', (_where, place) => {
  it('times out like one that sends nothing', async () => {
    const rig = await startServer({ ...place, idleMs: 300 });
    const client = await sloppyClient();
    const request = read('snponly.efi', { timeout: '255' });
    client.send(request, rig.port);
    const { from } = await client.next();
    client.send(ack(0), from);
    await client.next();
    let hasEnded = false;
    const ended = rig.noted('tftp.timeout').then(() => {
      hasEnded = true;
    });
    await expect
      .poll(() => {
        if (!hasEnded) client.send(request, rig.port);
        return hasEnded;
      })
      .toBe(true);
    await ended;
    const [note] = await rig.noted('tftp.timeout');
    expect(note?.data).toMatchObject({ reason: 'the client stopped answering' });
  });
});
