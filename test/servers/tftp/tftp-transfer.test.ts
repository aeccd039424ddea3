import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import { anyPacket } from '../../codecs/tftp/packets.ts';
import { ack, inWords, open, outcomeOf, PEER } from './tftp-transfer-opening.ts';

describe('a transfer without options', () => {
  it('begins with the first block and completes with the ACK of the last', () => {
    const transfer = open({}, 'hello');
    expect(inWords(transfer.start())).toEqual(['DATA 1 hello', 'wait 1000']);
    const end = transfer.onPacket(ack(1), PEER);
    expect(outcomeOf(end)).toEqual({
      result: 'completed',
      reason: null,
      clientError: null,
      blocks: 1,
      bytes: 5,
      resent: 0,
    });
    expect(transfer.finished).toBe(true);
  });

  it('sends an empty file as one empty block', () => {
    expect(inWords(open({}, '').start())).toEqual(['DATA 1', 'wait 1000']);
  });
});

describe('a transfer with options', () => {
  it('begins with the OACK and sends the first block after ACK 0', () => {
    const transfer = open({ blksize: '8', tsize: '0' }, '12345678abc');
    expect(inWords(transfer.start())).toEqual(['OACK blksize=8 tsize=11', 'wait 1000']);
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual([]);
    expect(inWords(transfer.onPacket(ack(0), PEER))).toEqual(['DATA 1 12345678', 'wait 1000']);
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual(['DATA 2 abc', 'wait 1000']);
    expect(outcomeOf(transfer.onPacket(ack(2), PEER))).toMatchObject({ result: 'completed', bytes: 11 });
  });

  it('ends a file that is a multiple of the block size with an empty block', () => {
    const transfer = open({ blksize: '8' }, '12345678');
    transfer.start();
    transfer.onPacket(ack(0), PEER);
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual(['DATA 2', 'wait 1000']);
    expect(outcomeOf(transfer.onPacket(ack(2), PEER))).toMatchObject({ result: 'completed', blocks: 2, bytes: 8 });
  });
});

describe('a window', () => {
  const opened = () => {
    const transfer = open({ blksize: '8', windowsize: '3' }, '11111111222222223333333344444444555');
    transfer.start();
    return transfer;
  };

  it('is sent at once, and advances with the ACK of its last block', () => {
    const transfer = opened();
    expect(inWords(transfer.onPacket(ack(0), PEER))).toEqual([
      'DATA 1 11111111',
      'DATA 2 22222222',
      'DATA 3 33333333',
      'wait 1000',
    ]);
    expect(inWords(transfer.onPacket(ack(3), PEER))).toEqual(['DATA 4 44444444', 'DATA 5 555', 'wait 1000']);
    expect(outcomeOf(transfer.onPacket(ack(5), PEER))).toMatchObject({ result: 'completed', bytes: 35, resent: 0 });
  });

  it('is retransmitted after an ACK in its middle, and filled up', () => {
    const transfer = opened();
    transfer.onPacket(ack(0), PEER);
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual([
      'DATA 2 22222222',
      'DATA 3 33333333',
      'DATA 4 44444444',
      'wait 1000',
    ]);
  });

  it('does not advance for an old ACK, a repeated ACK, or one of a block never sent', () => {
    const transfer = opened();
    transfer.onPacket(ack(0), PEER);
    transfer.onPacket(ack(2), PEER);
    for (const block of [0, 1, 2, 6, 65_535]) expect(inWords(transfer.onPacket(ack(block), PEER))).toEqual([]);
  });

  it('keeps a sent block unchanged until it is acknowledged', () => {
    const transfer = opened();
    const [first] = transfer.onPacket(ack(0), PEER);
    const before = first?.do === 'send' ? first.bytes.slice() : null;
    transfer.onTimeout();
    expect(first).toEqual({ do: 'send', bytes: before });
  });
});

describe('a source that is not ready', () => {
  it('is awaited without a timer, and then the window is filled', () => {
    const file = new Uint8Array(Buffer.from('1111111122222222333'));
    let available = 8;
    const source = {
      size: file.length,
      read: (offset: number, length: number) =>
        offset + length <= available ? file.subarray(offset, offset + length) : null,
    };
    const transfer = open({ blksize: '8', windowsize: '4' }, '', { source });
    transfer.start();
    expect(inWords(transfer.onPacket(ack(0), PEER))).toEqual(['DATA 1 11111111', 'wait 1000']);
    expect(inWords(transfer.onReadable())).toEqual([]);
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual([]);
    expect(inWords(transfer.onTimeout())).toEqual([]);
    available = 19;
    expect(inWords(transfer.onReadable())).toEqual(['DATA 2 22222222', 'DATA 3 333', 'wait 1000']);
  });

  it('is not read before the client has confirmed the options', () => {
    expect(inWords(open({ blksize: '8' }, 'x').onReadable())).toEqual([]);
  });

  it('ends the transfer when it is shorter than announced', () => {
    const source = { size: 100, read: () => new Uint8Array(3) };
    const transfer = open({}, '', { source });
    const actions = transfer.start();
    expect(inWords(actions)).toEqual(['ERROR 0 the file is shorter than announced', 'finish error']);
    expect(outcomeOf(actions)).toMatchObject({ reason: 'the file is shorter than announced', bytes: 0 });
  });
});

describe('packets that are not part of the transfer', () => {
  it('from another TID get ERROR 5, and the transfer continues', () => {
    const transfer = open({}, 'hello');
    transfer.start();
    for (const other of [
      { ...PEER, port: 2071 },
      { ...PEER, address: '192.0.2.8' },
    ]) {
      const actions = transfer.onPacket(ack(1), other);
      expect(inWords(actions)).toEqual(['unknown-tid ERROR 5 unknown transfer ID']);
      expect(actions[0]).toMatchObject({ to: other });
    }
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual(['finish completed']);
  });

  it('get no reply when they are an ERROR of another TID or not TFTP', () => {
    const transfer = open({}, 'hello');
    transfer.start();
    const other = { ...PEER, port: 2071 };
    expect(transfer.onPacket(encodeTftp({ op: 'error', code: 5, message: '' }), other)).toEqual([]);
    expect(transfer.onPacket(Uint8Array.of(1, 2, 3), other)).toEqual([]);
    expect(transfer.onPacket(Uint8Array.of(1, 2, 3), PEER)).toEqual([]);
    expect(transfer.onPacket(new Uint8Array(), PEER)).toEqual([]);
  });

  it('never make the transfer throw, send after its end, or finish twice', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 32 }),
      anyPacket.map(encodeTftp),
      fc.integer({ min: 0, max: 5 }).map(ack),
      fc.constant('timeout' as const),
    );
    fc.assert(
      fc.property(fc.array(bytes, { maxLength: 40 }), fc.boolean(), (inputs, withOptions) => {
        const transfer = open(withOptions ? { blksize: '8', windowsize: '2' } : {}, 'x'.repeat(20));
        transfer.start();
        for (const input of inputs) {
          const wasFinished = transfer.finished;
          const actions = input === 'timeout' ? transfer.onTimeout() : transfer.onPacket(input, PEER);
          if (wasFinished) expect(actions).toEqual([]);
          expect(actions.some((action) => action.do === 'finish')).toBe(!wasFinished && transfer.finished);
        }
      }),
    );
  });
});
