// A bad cable, from one Ethernet device to another. In each direction of each conversation, of every five frames one is lost, of
// every ten one comes twice, and of every four one comes late, so that others overtake it. Which of them, the seed says. Lost by
// number and not by chance alone: chance takes the same block five times now and then, and then a server may give up.
//
//   bad-cable.ts SEED DEVICE DEVICE
//
// It makes both devices where it runs; they may be moved to other namespaces. On SIGTERM it prints what it did as a line of JSON.

import { writeSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import koffi from 'koffi';

const [seed = '', ...devices] = process.argv.slice(2);
const LATE_MS = 20;
const LONGEST_FRAME = 1518;

/** linux/if_tun.h, linux/if.h: struct ifreq with a name and flags. */
const TUNSETIFF = 0x400454ca;
const IFF_TAP_WITHOUT_HEADER = 0x0002 | 0x1000;
const IFREQ = { bytes: 40, flagsAt: 16 } as const;

async function makeDevice(name: string): Promise<FileHandle> {
  const device = await open('/dev/net/tun', 'r+');
  const request = Buffer.alloc(IFREQ.bytes);
  request.write(name, 'latin1');
  request.writeUInt16LE(IFF_TAP_WITHOUT_HEADER, IFREQ.flagsAt);
  const ioctl = koffi.load(null).func('int ioctl(int fd, unsigned long request, uint8_t *argument)');
  if (ioctl(device.fd, TUNSETIFF, request) !== 0) throw new Error(`${name}: TUNSETIFF fails with ${koffi.errno()}`);
  return device;
}

let state = Number(seed) >>> 0;
function random(): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

/** True for one of every so many. */
function oneOf(many: number): () => boolean {
  let turn = 0;
  let chosen = 0;
  return () => {
    if (turn === 0) chosen = Math.floor(random() * many);
    const isIt = turn === chosen;
    turn = (turn + 1) % many;
    return isIt;
  };
}

/** One direction of it. */
class Conversation {
  readonly isLost = oneOf(5);
  readonly isDoubled = oneOf(10);
  readonly isLate = oneOf(4);
  delivered = 0;
}

/** From whom to whom: the source's hardware address, and the addresses and ports of IPv4 and UDP. Of ARP, whatever is there. */
const partiesOf = (frame: Buffer): string => frame.toString('latin1', 6, 14) + frame.toString('latin1', 26, 38);

const counts = { carried: 0, lost: 0, doubled: 0, overtaken: 0 };

async function carry(from: FileHandle, to: FileHandle): Promise<never> {
  const conversations = new Map<string, Conversation>();
  for (;;) {
    const { buffer, bytesRead } = await from.read(Buffer.alloc(LONGEST_FRAME));
    const frame = buffer.subarray(0, bytesRead);
    const parties = partiesOf(frame);
    const conversation = conversations.get(parties) ?? new Conversation();
    conversations.set(parties, conversation);
    pass(frame, conversation, to);
  }
}

function pass(frame: Buffer, conversation: Conversation, to: FileHandle): void {
  counts.carried += 1;
  if (conversation.isLost()) {
    counts.lost += 1;
    return;
  }
  if (conversation.isDoubled()) {
    counts.doubled += 1;
    deliver(frame, conversation, to);
  }
  if (!conversation.isLate()) {
    deliver(frame, conversation, to);
    return;
  }
  const before = conversation.delivered;
  setTimeout(() => {
    if (conversation.delivered > before) counts.overtaken += 1;
    deliver(frame, conversation, to);
  }, LATE_MS * random());
}

function deliver(frame: Buffer, conversation: Conversation, to: FileHandle): void {
  conversation.delivered += 1;
  try {
    writeSync(to.fd, frame);
  } catch (error) {
    // That end is not up.
    if ((error as NodeJS.ErrnoException).code !== 'EIO') throw error;
  }
}

const [left, right] = await Promise.all(devices.map(makeDevice));
if (!left || !right) throw new Error('a cable has two ends');
process.once('SIGTERM', () => {
  writeSync(1, `${JSON.stringify(counts)}\n`);
  // Not process.exit(), which would wait for the reads.
  process.kill(process.pid, 'SIGTERM');
});
process.stdout.write('carrying\n');
await Promise.all([carry(left, right), carry(right, left)]);
