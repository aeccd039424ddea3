// A bad cable between two Ethernet devices. In each direction of each conversation, one of five frames is lost, one of
// ten is duplicated, and one of four is delayed, so that others overtake it. The seed decides which. Loss is
// counted instead of random alone: chance sometimes drops the same block five times, and then a server may give up.
//
//   bad-cable.ts SEED DEVICE DEVICE
//
// It creates both devices where it runs; they may be moved to other namespaces. On SIGTERM it prints its statistics as a line of JSON.

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

/** True for one in this many. */
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

/** One direction of the cable. */
class Conversation {
  readonly isLost = oneOf(5);
  readonly isDoubled = oneOf(10);
  readonly isLate = oneOf(4);
  delivered = 0;
}

/** The conversation of a frame: source hardware address, and addresses and ports of IPv4 and UDP. For ARP, whatever bytes are there. */
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
