import { describe, expect, it } from 'vitest';
import { monotonicClock, type TransferClock } from '../../../appliance/servers/tftp/transfer-port.ts';
import { ack, read, sloppyClient } from './sloppy-client.ts';
import { LOADER, startServer } from './tftp-rig.ts';

/** The retransmission timeout of one second is shortened to a tenth. */
const hurried: TransferClock = {
  now: () => monotonicClock.now() * 10,
  every: (period, run) => monotonicClock.every(period / 10, run),
};

/** True for one in five, deterministically. */
function lossOf(seed: number): () => boolean {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 < 0.2;
  };
}

/** Loses packets both ways; the server must detect it. A block out of order is answered by RFC 7440 §4. */
async function loadWithLoss(port: number, windowSize: number, isLost: () => boolean): Promise<Buffer> {
  const client = await sloppyClient();
  client.send(read('ipxe.efi', { blksize: '512', windowsize: String(windowSize) }), port);
  const blocks: Uint8Array[] = [];
  let sinceAck = 0;
  for (;;) {
    const { packet, from } = await client.next();
    if (isLost()) continue;
    const isNext = packet.op === 'data' && packet.block === blocks.length + 1;
    const isLast = isNext && packet.payload.length < 512;
    if (isNext) blocks.push(packet.payload);
    sinceAck += 1;
    if (isNext && !isLast && sinceAck < windowSize) continue;
    sinceAck = 0;
    // The last ACK is never lost here: the client would be gone before a retransmission.
    if (isLast || !isLost()) client.send(ack(blocks.length), from);
    if (isLast) return Buffer.concat(blocks);
  }
}

describe('on a link that loses every fifth packet', () => {
  it.each([1, 4, 16])('a file arrives complete in windows of %i', async (windowSize) => {
    const rig = await startServer({}, undefined, { clock: hurried });
    const got = await loadWithLoss(rig.port, windowSize, lossOf(windowSize));
    expect(got.equals(LOADER.subarray(0, 20_000))).toBe(true);
    const [note] = await rig.noted('tftp.completed');
    expect(note?.data).toMatchObject({ bytes: 20_000, resent: expect.any(Number), windowSize });
    expect(note?.data).not.toMatchObject({ resent: 0 });
  });
});
