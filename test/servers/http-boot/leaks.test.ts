import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { BootServerRig, patternBytes } from './boot-server-rig.ts';

let rig: BootServerRig;
afterEach(() => rig.stop());

const descriptors = (): number => readdirSync('/proc/self/fd').length;
const MEBIBYTE = 1024 * 1024;

function request(path: string): Socket {
  const socket = rig.connect();
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
  return socket;
}

describe('after many machines', () => {
  it('aborted transfers leave no descriptor, no buffer and no request behind, from the disk and from memory', async () => {
    rig = await BootServerRig.start({ memoryBudget: 20 * MEBIBYTE });
    rig.shelve('images/held/disk', patternBytes(16 * MEBIBYTE));
    rig.shelveSparse('images/streamed/disk', 100 * MEBIBYTE);
    const before = descriptors();
    for (let round = 0; round < 5; round += 1) {
      const sockets = Array.from({ length: 40 }, (_, at) =>
        request(at % 2 === 0 ? '/boot/held/disk' : '/boot/streamed/disk'),
      );
      await Promise.all(sockets.map((socket) => once(socket, 'readable')));
      for (const [at, socket] of sockets.entries()) {
        if (at % 3 === 0) socket.resetAndDestroy();
        else socket.destroy();
      }
    }
    await rig.noted('http.served', 200);
    await expect.poll(() => rig.server.usage).toEqual({ requests: 0, files: 1, heldBytes: 16 * MEBIBYTE });
    // The cached file stays open, on the disk and in memory.
    await expect.poll(descriptors).toBeLessThanOrEqual(before + 2);
    expect(rig.notes.every(({ data }) => (data as { complete: boolean }).complete === false)).toBe(true);
  });
});
