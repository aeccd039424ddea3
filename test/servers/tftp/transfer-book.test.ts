import { describe, expect, it } from 'vitest';
import { endpointFrom } from '../../../appliance/net/udp/endpoint.ts';
import { TransferBook, TransferRoom } from '../../../appliance/servers/tftp/transfer-book.ts';
import type { RunningTransfer } from '../../../appliance/servers/tftp/transfers.ts';

const client = (port: number, address = 0x0a00_0001) => endpointFrom(address, port);

/** Remembers why it was abandoned. Its end is told later, as that of a transfer in another thread. */
function transfer(silentFor = 0) {
  const abandoned: string[] = [];
  const running: RunningTransfer = {
    onRequestPort: () => undefined,
    silentFor: () => silentFor,
    abandon: (reason) => void abandoned.push(reason),
  };
  return { running, abandoned };
}

describe('the book of transfers', () => {
  it('has room for so many of one address, and for so many in all', () => {
    const book = new TransferBook(2, new TransferRoom(3));
    book.enter(client(1), 'opening');
    expect(book.crowdedFor(client(2))).toBeNull();
    book.enter(client(2), transfer().running);
    expect(book.crowdedFor(client(3))).toBe('too many transfers at once from this address (2)');
    expect(book.crowdedFor(client(1, 0x0a00_0002))).toBeNull();
    book.enter(client(1, 0x0a00_0002), transfer().running);
    expect(book.crowdedFor(client(1, 0x0a00_0003))).toBe('too many transfers at once (3)');
    book.leave(client(1), 'opening');
    expect(book.crowdedFor(client(1, 0x0a00_0003))).toBeNull();
    expect(book.size).toBe(2);
  });

  it('gives up what a client that was reset has forgotten, and nothing else, to make room at once', () => {
    const book = new TransferBook(2, new TransferRoom(100));
    const [forgotten, alive] = [transfer(3000), transfer(2999)];
    book.enter(client(1), forgotten.running);
    book.enter(client(2), alive.running);
    expect(book.crowdedFor(client(3))).toBeNull();
    expect(forgotten.abandoned).toEqual(['the client began other transfers instead']);
    expect(alive.abandoned).toEqual([]);
    expect([book.of(client(1)), book.of(client(2))]).toEqual([undefined, alive.running]);
  });

  it('keeps what a client began since when an earlier transfer of the same port ends at last', () => {
    const book = new TransferBook(4, new TransferRoom(4));
    const [earlier, later] = [transfer(), transfer()];
    book.enter(client(1), earlier.running);
    book.enter(client(1), later.running);
    book.leave(client(1), earlier.running);
    expect(book.of(client(1))).toBe(later.running);
    book.leave(client(1), later.running);
    expect([book.of(client(1)), book.size]).toEqual([undefined, 0]);
  });

  it('shares the room for all with the books of other addresses', () => {
    const room = new TransferRoom(2);
    const [here, there] = [new TransferBook(4, room), new TransferBook(4, room)];
    const running = transfer().running;
    here.enter(client(1), 'opening');
    here.enter(client(1), running);
    there.enter(client(1), 'opening');
    expect(there.crowdedFor(client(2))).toBe('too many transfers at once (2)');
    here.leave(client(1), 'opening');
    expect(there.crowdedFor(client(2))).toBe('too many transfers at once (2)');
    here.leave(client(1), running);
    here.leave(client(1), running);
    expect(there.crowdedFor(client(2))).toBeNull();
    there.leave(client(1), 'opening');
    expect(room.taken).toBe(0);
  });
});
