// A worker thread that only runs transfers: it may block on the next packet and on the disk. It has a port of its own, and
// receives its orders as messages.

import { parentPort, workerData } from 'node:worker_threads';
import { encodeTftp } from '../../codecs/tftp/encode.ts';
import { TFTP_ERRORS } from '../../codecs/tftp/packet.ts';
import { openBurstSocket } from '../../net/udp/burst-socket.ts';
import { openContentNow } from './file-bytes.ts';
import type { TftpSession } from './tftp-session.ts';
import { type FromThread, failedOutcome, type ThreadSetup, type ToThread } from './thread-messages.ts';
import { TransferActivity } from './transfer-activity.ts';
import { monotonicClock, TransferPort } from './transfer-port.ts';
import type { TransferOrder } from './transfers.ts';

const server = parentPort;
if (server === null) throw new Error('this module runs only as a worker thread');
const report = (message: FromThread): void => server.postMessage(message);

const { address, idleMs, rolloverTo } = workerData as ThreadSetup;
const port = new TransferPort({ clock: monotonicClock, idleMs, rolloverTo });
const sessions = new Map<number, TftpSession>();
const socket = await openBurstSocket(address, 0, (bytes, from) => port.onPacket(bytes, from, socket), {
  lingers: true,
});
server.on('message', onMessage);
report({ event: 'ready', now: monotonicClock.now() });

function onMessage(message: ToThread): void {
  switch (message.do) {
    case 'begin':
      begin(message.id, message.order, message.activity);
      break;
    case 'forward':
      forward(message.id, message.bytes);
      break;
    case 'abandon':
      sessions.get(message.id)?.abandon(message.reason);
      break;
    case 'drop':
      sessions.get(message.id)?.drop(message.reason);
      break;
    case 'stop':
      port.stop(message.reason);
      socket.close();
      server?.close();
      break;
  }
}

function begin(id: number, { content, ...order }: TransferOrder, activity: Float64Array): void {
  try {
    const source = openContentNow(content);
    const session = port.begin(
      order,
      source,
      socket,
      {
        onStall: (stall) => report({ event: 'stalled', id, stall }),
        onEnd: (outcome) => {
          sessions.delete(id);
          report({ event: 'ended', id, outcome });
        },
      },
      new TransferActivity(activity),
    );
    if (!session.finished) sessions.set(id, session);
  } catch (error) {
    const reason = `the file cannot be read: ${(error as Error).message}`;
    const words = 'the file cannot be read';
    socket.send(encodeTftp({ op: 'error', code: TFTP_ERRORS.notDefined, message: words }), order.client);
    report({ event: 'ended', id, outcome: failedOutcome(reason) });
  }
}

function forward(id: number, bytes: Uint8Array): void {
  // A client that ends one transfer and begins the next from the same port sends its last packet first, to our port.
  socket.receive();
  const session = sessions.get(id);
  session?.onPacket(bytes);
  report({ event: 'forwarded', id, isOver: session === undefined || session.finished });
}
