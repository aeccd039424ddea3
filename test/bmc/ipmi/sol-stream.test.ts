import { describe, expect, it } from 'vitest';
import { SolStream } from '../../../appliance/bmc/ipmi/sol-stream.ts';
import { decodeSol, type SolFromBmc } from '../../../appliance/codecs/ipmi/sol-packet.ts';

const TIMINGS = { repeatAfter: 1000, tries: 3 };
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');
const bytes = (value: string): Uint8Array => new TextEncoder().encode(value);

const fromBmc = (change: Partial<SolFromBmc>): SolFromBmc => ({
  number: 0,
  acknowledges: 0,
  accepted: 0,
  refused: false,
  unavailable: false,
  deactivating: false,
  overrun: false,
  characters: new Uint8Array(),
  ...change,
});

/** Number, acknowledged number, accepted count and characters of a packet to the BMC. */
const shown = (packet: Uint8Array | undefined): string =>
  packet ? `${packet[0]} ack ${packet[1]}/${packet[2]} "${text(packet.subarray(4))}"` : 'nothing';

describe('console output', () => {
  it('is delivered and acknowledged', () => {
    const stream = new SolStream(64, TIMINGS);
    const { deliver, send } = stream.receive(fromBmc({ number: 3, characters: bytes('boot') }), 0);
    expect(text(deliver)).toBe('boot');
    expect(send.map(shown)).toEqual(['0 ack 3/4 ""']);
  });

  it('is delivered once when it is retransmitted, and only the new end when it has grown', () => {
    const stream = new SolStream(64, TIMINGS);
    const say = (number: number, characters: string) =>
      text(stream.receive(fromBmc({ number, characters: bytes(characters) }), 0).deliver);
    expect([say(1, 'ab'), say(1, 'ab'), say(1, 'abcd'), say(2, 'ef'), say(2, 'e')]).toEqual(['ab', '', 'cd', 'ef', '']);
  });

  it('ends when the BMC deactivates the console', () => {
    expect(new SolStream(64, TIMINGS).receive(fromBmc({ deactivating: true }), 0).ended).toContain(
      'deactivated the console',
    );
  });
});

describe('console input', () => {
  it('is sent one packet at a time, the next after the acknowledgement', () => {
    const stream = new SolStream(64, TIMINGS);
    expect(stream.type(bytes('a'), 0).send.map(shown)).toEqual(['1 ack 0/0 "a"']);
    expect(stream.type(bytes('bc'), 0).send).toEqual([]);
    expect(stream.receive(fromBmc({ acknowledges: 1, accepted: 1 }), 10).send.map(shown)).toEqual(['2 ack 0/0 "bc"']);
  });

  it('is split at the packet size of the BMC, or at 200 when that is implausible', () => {
    expect(shown(new SolStream(20, TIMINGS).type(bytes('x'.repeat(300)), 0).send[0])).toBe(
      `1 ack 0/0 "${'x'.repeat(16)}"`,
    );
    expect(new SolStream(0xffff, TIMINGS).type(bytes('x'.repeat(300)), 0).send[0]).toHaveLength(204);
  });

  it('is resent from where the BMC stopped accepting it', () => {
    const stream = new SolStream(64, TIMINGS);
    stream.type(bytes('hello'), 0);
    expect(stream.receive(fromBmc({ acknowledges: 1, accepted: 2 }), 10).send.map(shown)).toEqual(['2 ack 0/0 "llo"']);
  });

  it('is retransmitted with the same number until acknowledged, and finally fails', () => {
    const stream = new SolStream(64, TIMINGS);
    stream.type(bytes('hi'), 0);
    expect(stream.wakeAt).toBe(1000);
    expect(stream.wake(999).send).toEqual([]);
    expect(stream.wake(1000).send.map(shown)).toEqual(['1 ack 0/0 "hi"']);
    expect(stream.receive(fromBmc({ acknowledges: 1, accepted: 2, refused: true }), 1500).send).toEqual([]);
    expect(stream.wake(2000).send.map(shown)).toEqual(['1 ack 0/0 "hi"']);
    expect(stream.wake(3000).ended).toContain('does not acknowledge');
  });

  it('ends the console when it far exceeds what the BMC accepts', () => {
    const stream = new SolStream(64, TIMINGS);
    expect(stream.type(new Uint8Array(1024 * 1024), 0).ended).toBeNull();
    expect(stream.type(new Uint8Array(1024 * 1024), 0).ended).toBe('the input exceeds what the BMC accepts');
  });

  it('numbers its packets 1 to 15, cyclically', () => {
    const stream = new SolStream(64, TIMINGS);
    const numbers: number[] = [];
    for (let typed = 0; typed < 17; typed++) {
      const number = stream.type(bytes('k'), 0).send[0]?.[0] ?? 0;
      numbers.push(number);
      stream.receive(fromBmc({ acknowledges: number, accepted: 1 }), 0);
    }
    expect(numbers).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 1, 2]);
  });
});

describe('a status byte', () => {
  it('is decoded', () => {
    expect(decodeSol(Uint8Array.of(1, 2, 3, 0x78, 0x41))).toEqual(
      fromBmc({
        number: 1,
        acknowledges: 2,
        accepted: 3,
        refused: true,
        unavailable: true,
        deactivating: true,
        overrun: true,
        characters: Uint8Array.of(0x41),
      }),
    );
  });
});
