// A proxy between client and BMC that drops, duplicates and reorders datagrams, the same ones in every run.

import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { onTestFinished } from 'vitest';

export interface PacketFaults {
  /** Percentages. */
  readonly dropped: number;
  readonly duplicated: number;
  readonly reordered: number;
}

/** A reordered datagram is sent after the next one, or after this time when none follows. */
const LONGEST_HOLD_MS = 20;

export async function lossyProxy(
  bmcPort: number,
  faults: PacketFaults,
  seed: number,
): Promise<{ port: number; affected: number }> {
  const front = createSocket('udp4');
  front.bind(0, '127.0.0.1');
  await once(front, 'listening');
  const backs = new Map<number, Socket>();
  const held = new Set<NodeJS.Timeout>();
  const result = { port: front.address().port, affected: 0 };
  let state = seed;
  const percent = (): number => {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    return (state >>> 16) % 100;
  };

  const through = (deliver: (bytes: Uint8Array) => void): ((bytes: Uint8Array) => void) => {
    let waiting: (() => void) | null = null;
    return (bytes) => {
      const dice = percent();
      const { dropped, duplicated, reordered } = faults;
      if (dice < dropped + duplicated + reordered) result.affected += 1;
      if (dice < dropped) return;
      if (dice >= dropped + duplicated && dice < dropped + duplicated + reordered && !waiting) {
        const release = (): void => {
          clearTimeout(timeout);
          held.delete(timeout);
          waiting = null;
          deliver(bytes);
        };
        const timeout = setTimeout(release, LONGEST_HOLD_MS);
        held.add(timeout);
        waiting = release;
        return;
      }
      deliver(bytes);
      if (dice < dropped + duplicated) deliver(bytes);
      waiting?.();
    };
  };

  const backFor = (clientPort: number): Socket => {
    const back = createSocket('udp4');
    back.on(
      'message',
      through((bytes) => front.send(bytes, clientPort, '127.0.0.1')),
    );
    backs.set(clientPort, back);
    return back;
  };
  const forward = new Map<number, (bytes: Uint8Array) => void>();
  front.on('message', (bytes, { port }) => {
    const back = backs.get(port) ?? backFor(port);
    const send = forward.get(port) ?? through((packet) => back.send(packet, bmcPort, '127.0.0.1'));
    forward.set(port, send);
    send(bytes);
  });
  onTestFinished(() => {
    for (const timeout of held) clearTimeout(timeout);
    for (const back of backs.values()) back.close();
    front.close();
  });
  return result;
}
