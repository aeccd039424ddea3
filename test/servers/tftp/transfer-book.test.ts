import { describe, expect, it } from 'vitest';
import { endpointFrom } from '../../../appliance/net/udp/endpoint.ts';
import { TransferBook, TransferLimit } from '../../../appliance/servers/tftp/transfer-book.ts';
import type { RunningTransfer } from '../../../appliance/servers/tftp/transfers.ts';

const client = (port: number, address = 0x0a00_0001) => endpointFrom(address, port);

/** Records why it was abandoned. Its onEnd is called later, as for a transfer in another thread. */
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
