import { describe, expect, it } from 'vitest';
import { endpointFrom } from '../../../appliance/net/udp/endpoint.ts';
import { TransferBook, TransferLimit } from '../../../appliance/servers/tftp/transfer-book.ts';
import type { RunningTransfer } from '../../../appliance/servers/tftp/transfers.ts';

const client = (port: number, address = 0x0a00_0001) => endpointFrom(address, port);

/** Records why it was abandoned. Its onEnd is called later, as for a transfer in another thread. */
function transfer(silentFor = 0, isAnswered = true) {
  const abandoned: string[] = [];
  const dropped: string[] = [];
  const running: RunningTransfer = {
    onRequestPort: () => undefined,
    silentFor: () => silentFor,
    isAnswered: () => isAnswered,
    abandon: (reason) => void abandoned.push(reason),
    drop: (reason) => void dropped.push(reason),
  };
  return { running, abandoned, dropped };
}

describe('the book of transfers', () => {
  it('limits the transfers per address and in total', () => {
    const book = new TransferBook(2, new TransferLimit(3));
    book.enter(client(1), 'opening');
    expect(book.refusalFor(client(2))).toBeNull();
    book.enter(client(2), transfer().running);
    expect(book.refusalFor(client(3))).toBe('too many transfers at once from this address (2)');
    expect(book.refusalFor(client(1, 0x0a00_0002))).toBeNull();
    book.enter(client(1, 0x0a00_0002), transfer().running);
    expect(book.refusalFor(client(1, 0x0a00_0003))).toBe('too many transfers at once (3)');
    book.leave(client(1), 'opening');
    expect(book.refusalFor(client(1, 0x0a00_0003))).toBeNull();
    expect(book.size).toBe(2);
  });

  it('ends only the abandoned transfers of a client that was reset, and allows a new one at once', () => {
    const book = new TransferBook(2, new TransferLimit(100));
    const [forgotten, alive] = [transfer(3000), transfer(2999)];
    book.enter(client(1), forgotten.running);
    book.enter(client(2), alive.running);
    expect(book.refusalFor(client(3))).toBeNull();
    expect(forgotten.abandoned).toEqual(['the client started other transfers']);
    expect(alive.abandoned).toEqual([]);
    expect([book.of(client(1)), book.of(client(2))]).toEqual([undefined, alive.running]);
  });

  it('lets the oldest transfer without an answer give way, of the address first, and sends it nothing', () => {
    const limit = new TransferLimit(3);
    const [here, there] = [new TransferBook(2, limit), new TransferBook(2, limit)];
    const [followed, oldest, newer] = [transfer(), transfer(0, false), transfer(0, false)];
    here.enter(client(1), followed.running);
    here.enter(client(2), oldest.running);
    expect(here.refusalFor(client(3))).toBeNull();
    expect([oldest.dropped.length, oldest.abandoned.length, followed.dropped.length]).toEqual([1, 0, 0]);
    here.enter(client(3), newer.running);
    here.enter(client(1, 0x0a00_0002), transfer().running);
    expect(there.refusalFor(client(1, 0x0a00_0003))).toBeNull();
    expect([newer.dropped.length, here.size, limit.active]).toEqual([1, 2, 2]);
  });

  it('lets a transfer that stalled for ten seconds give way when all have answered, and no other', () => {
    const book = new TransferBook(4, new TransferLimit(2));
    const [stalled, slow] = [transfer(10_000), transfer(9999)];
    book.enter(client(1), slow.running);
    book.enter(client(2, 0x0a00_0002), stalled.running);
    expect(book.refusalFor(client(1, 0x0a00_0003))).toBeNull();
    expect([slow.dropped.length, stalled.dropped.length]).toEqual([0, 1]);
    book.enter(client(1, 0x0a00_0003), transfer().running);
    expect(book.refusalFor(client(1, 0x0a00_0004))).toBe('too many transfers at once (2)');
  });

  it('keeps the newer transfer when an earlier one of the same port ends', () => {
    const book = new TransferBook(4, new TransferLimit(4));
    const [earlier, later] = [transfer(), transfer()];
    book.enter(client(1), earlier.running);
    book.enter(client(1), later.running);
    book.leave(client(1), earlier.running);
    expect(book.of(client(1))).toBe(later.running);
    book.leave(client(1), later.running);
    expect([book.of(client(1)), book.size]).toEqual([undefined, 0]);
  });

  it('shares the total limit with the books of other addresses', () => {
    const limit = new TransferLimit(2);
    const [here, there] = [new TransferBook(4, limit), new TransferBook(4, limit)];
    const running = transfer().running;
    here.enter(client(1), 'opening');
    here.enter(client(1), running);
    there.enter(client(1), 'opening');
    expect(there.refusalFor(client(2))).toBe('too many transfers at once (2)');
    here.leave(client(1), 'opening');
    expect(there.refusalFor(client(2))).toBe('too many transfers at once (2)');
    here.leave(client(1), running);
    here.leave(client(1), running);
    expect(there.refusalFor(client(2))).toBeNull();
    there.leave(client(1), 'opening');
    expect(limit.active).toBe(0);
  });
});
