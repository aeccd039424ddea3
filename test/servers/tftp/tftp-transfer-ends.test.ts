import { describe, expect, it } from 'vitest';
import { ack, error, inWords, open, outcomeOf, PEER, request, stallsIn } from './tftp-transfer-opening.ts';

describe('a client that does not answer', () => {
  it('gets retransmissions after 1, 2, 4 and 8 seconds, and is given up after 16 more', () => {
    const transfer = open({}, 'hello');
    transfer.start();
    for (const wait of [2000, 4000, 8000, 16_000]) {
      expect(inWords(transfer.onTimeout())).toEqual(['DATA 1 hello', `wait ${wait}`]);
    }
    expect(outcomeOf(transfer.onTimeout())).toMatchObject({ result: 'timeout', blocks: 0, resent: 4 });
  });

  it('and may not exist gets the first block once, again for each request, and is given up after 16 seconds', () => {
    const transfer = open({}, 'hello', { firstReplies: 1 });
    expect(inWords(transfer.start())).toEqual(['DATA 1 hello', 'wait 16000']);
    expect(inWords(transfer.onPacket(request({}), PEER))).toEqual(['DATA 1 hello']);
    expect(outcomeOf(transfer.onTimeout())).toMatchObject({ result: 'timeout', blocks: 0 });
  });

  it('gets no ERROR when its transfer gives way', () => {
    const transfer = open({}, 'hello');
    transfer.start();
    expect(inWords(transfer.drop('for another'))).toEqual(['finish timeout']);
    expect(inWords(transfer.drop('for another'))).toEqual([]);
  });

  it('gets the OACK again after the OACK', () => {
    const transfer = open({ tsize: '0' }, 'hello');
    transfer.start();
    for (const wait of [2000, 4000, 8000, 16_000]) {
      expect(inWords(transfer.onTimeout())).toEqual(['OACK tsize=5', `wait ${wait}`]);
    }
    expect(outcomeOf(transfer.onTimeout())?.reason).toBe('no reply to the OACK, sent 5 times');
  });

  it('gets the whole window again, and its timeouts are reset when it advances', () => {
    const transfer = open({ blksize: '8', windowsize: '2' }, '1111111122222222333');
    transfer.start();
    transfer.onPacket(ack(0), PEER);
    expect(inWords(transfer.onTimeout())).toEqual(['DATA 1 11111111', 'DATA 2 22222222', 'wait 1000']);
    expect(inWords(transfer.onPacket(ack(2), PEER))).toEqual(['DATA 3 333', 'wait 1000']);
  });

  it('and has answered before is given up after 31 seconds, with retransmissions every second and pauses between', () => {
    const transfer = open({ blksize: '8' }, '11111111222');
    transfer.start();
    transfer.onPacket(ack(0), PEER);
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual(['DATA 2 222', 'wait 1000']);
    const round = [1000, 1000, 1000, 6500, 1000];
    for (const wait of [...round, ...round, ...round.slice(0, 4)]) {
      expect(inWords(transfer.onTimeout())).toEqual(['DATA 2 222', `wait ${wait}`]);
    }
    expect(outcomeOf(transfer.onTimeout())).toMatchObject({ result: 'timeout', resent: 14 });
  });

  it('is measured by the negotiated timeout, from the moment the client has confirmed it', () => {
    const transfer = open({ timeout: '5' }, 'hello');
    expect(inWords(transfer.start())).toEqual(['OACK timeout=5', 'wait 1000']);
    expect(inWords(transfer.onTimeout())).toEqual(['OACK timeout=5', 'wait 2000']);
    expect(inWords(transfer.onPacket(ack(0), PEER))).toEqual(['DATA 1 hello', 'wait 5000']);
    for (let time = 1; time < 7; time += 1) {
      expect(inWords(transfer.onTimeout())).toEqual(['DATA 1 hello', 'wait 5000']);
    }
    expect(inWords(transfer.onTimeout())).toEqual(['finish timeout']);
  });

  it.each([
    ['when nothing was acknowledged', 0, 'the first block was never acknowledged'],
    ['when the client stopped half-way', 1, 'no packet after the ACK of block 1'],
    ['when only the last ACK is missing', 2, 'the whole file was sent, but the last block (3) was never acknowledged'],
  ])('is reported with the last acknowledged block: %s', (_when, acknowledged, reason) => {
    const transfer = open({ blksize: '8' }, '1111111122222222333');
    transfer.start();
    for (let block = 0; block <= acknowledged; block += 1) transfer.onPacket(ack(block), PEER);
    for (let time = 1; time < 15; time += 1) transfer.onTimeout();
    expect(outcomeOf(transfer.onTimeout())).toMatchObject({ result: 'timeout', reason, bytes: acknowledged * 8 });
  });
});

describe('a stall', () => {
  it('is reported after four seconds without progress, once, with what is missing', () => {
    const transfer = open({ blksize: '8' }, '11111111222');
    transfer.start();
    transfer.onPacket(ack(0), PEER);
    const stalls = Array.from({ length: 14 }, () => stallsIn(transfer.onTimeout()));
    expect(stalls.flat()).toEqual([
      { reason: 'the first block was never acknowledged', blocks: 0, bytes: 0, resent: 3 },
    ]);
    expect(stalls[3]).toHaveLength(1);
  });

  it('names an OACK that was never answered', () => {
    const transfer = open({ tsize: '0' }, 'hello');
    transfer.start();
    const stalls = [1, 2, 3].map(() => stallsIn(transfer.onTimeout()));
    expect(stalls.flat()).toMatchObject([{ reason: 'no reply to the OACK, sent 3 times' }]);
  });

  it('is not reported while the client advances, however often packets are repeated', () => {
    const transfer = open({ blksize: '8' }, '111111112222222233333333444');
    transfer.start();
    for (let block = 0; block < 4; block += 1) {
      transfer.onPacket(ack(block), PEER);
      for (let time = 1; time <= 3; time += 1) expect(stallsIn(transfer.onTimeout())).toEqual([]);
    }
  });
});

describe('an ERROR from the client', () => {
  const afterAcks = (options: Record<string, string>, acks: number[], packet: Uint8Array) => {
    const transfer = open(options, 'x'.repeat(2000));
    transfer.start();
    for (const block of acks) transfer.onPacket(ack(block), PEER);
    return outcomeOf(transfer.onPacket(packet, PEER));
  };
  const closed = error(8, 'User aborted the transfer');

  it.each([
    ['EDK2 has the size it requested', { tsize: '0' }, [], closed, 'probe'],
    ['GRUB opens a file and closes it again', { tsize: '0' }, [0], error(0, 'closed'), 'probe'],
    ['a client closes without having requested the size', { blksize: '512' }, [], closed, 'aborted'],
    ['GRUB has read as much as it wanted', { tsize: '0' }, [0, 1], error(0, 'closed'), 'aborted'],
    ['iPXE is interrupted', {}, [1], error(0, 'TFTP Aborted'), 'aborted'],
    ['EDK2 wanted an OACK and got data', {}, [], error(4, 'User aborted download'), 'aborted'],
    ['EDK2 does not like the OACK', { tsize: '0' }, [], error(8, 'Malformatted OACK packet'), 'error'],
    ['the file does not fit into memory', { tsize: '0' }, [0, 1], error(3, 'Memory overflow'), 'error'],
  ])('when %s', (_sentence, options, acks, packet, result) => {
    expect(afterAcks({ ...options }, acks, packet)).toMatchObject({ result });
  });

  it('is reported verbatim, made safe to print', () => {
    expect(afterAcks({}, [], error(3, 'full\x1b[2J'))).toMatchObject({
      reason: 'the client sent ERROR 3 "full\\u001b[2J"',
      clientError: { code: 3, message: 'full\x1b[2J' },
    });
  });

  it('is not answered', () => {
    const transfer = open({ tsize: '0' }, 'hello');
    transfer.start();
    expect(inWords(transfer.onPacket(closed, PEER))).toEqual(['finish probe']);
    expect(inWords(transfer.onPacket(ack(0), PEER))).toEqual([]);
    expect(inWords(transfer.onTimeout())).toEqual([]);
    expect(inWords(transfer.onReadable())).toEqual([]);
    expect(inWords(transfer.abandon('too late'))).toEqual([]);
  });
});

describe('the same request again', () => {
  it('gets the OACK again while the client has not answered it', () => {
    const transfer = open({ tsize: '0' }, 'hello');
    transfer.start();
    expect(inWords(transfer.onPacket(request({ tsize: '0' }), PEER))).toEqual(['OACK tsize=5']);
  });

  it('gets the first block again where there was no OACK', () => {
    const transfer = open({}, 'hello');
    transfer.start();
    expect(inWords(transfer.onPacket(request({}), PEER))).toEqual(['DATA 1 hello']);
  });

  it('gets nothing while the source is not ready', () => {
    const transfer = open({}, '', { source: { size: 5, read: () => null } });
    expect(inWords(transfer.start())).toEqual([]);
    expect(inWords(transfer.onPacket(request({}), PEER))).toEqual([]);
  });

  it('is a late duplicate while the client acknowledges', () => {
    const transfer = open({ blksize: '8' }, '1111111122');
    transfer.start();
    transfer.onPacket(ack(0), PEER);
    expect(inWords(transfer.onPacket(request({ blksize: '8' }), PEER))).toEqual([]);
    expect(inWords(transfer.onPacket(ack(1), PEER))).toEqual(['DATA 2 22', 'wait 1000']);
  });

  it('is a new start when the client had stopped answering: a reset machine uses the same port', () => {
    const transfer = open({ blksize: '8' }, '1111111122');
    transfer.start();
    transfer.onPacket(ack(0), PEER);
    transfer.onTimeout();
    expect(inWords(transfer.onPacket(request({ blksize: '8' }), PEER))).toEqual(['finish aborted']);
  });

  it('for another file is a new start at once', () => {
    const transfer = open({}, 'hello');
    transfer.start();
    const end = transfer.onPacket(request({}, 'other'), PEER);
    expect(outcomeOf(end)).toMatchObject({
      result: 'aborted',
      reason: 'the client restarted the transfer from the same port',
    });
  });
});

describe('abandoning a transfer', () => {
  it('sends the client the reason and ends it', () => {
    const transfer = open({}, 'hello');
    transfer.start();
    const actions = transfer.abandon('the appliance is stopping');
    expect(inWords(actions)).toEqual(['ERROR 0 the appliance is stopping', 'finish error']);
    expect(outcomeOf(actions)).toMatchObject({ reason: 'the appliance is stopping', clientError: null });
  });
});
