// The session's state machine in virtual time: no socket, no timer, every packet checked.

import { describe, expect, it } from 'vitest';
import { IpmiSession, type Reaction, type SessionSignal } from '../../../appliance/bmc/ipmi/session.ts';
import { SUITE_3, SUITE_17 } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import { chassisControl, getChassisStatus } from '../../../appliance/codecs/ipmi/commands/chassis.ts';
import { checksum } from '../../../appliance/codecs/ipmi/message.ts';
import { decodePacket, encodeHandshake, encodeSessionless, PAYLOAD } from '../../../appliance/codecs/ipmi/packet.ts';
import { HandshakePeer, LOGIN } from './handshake-peer.ts';
import type { SimulatedSession } from './simulator/simulated-session.ts';

const TIMINGS = { firstWait: 1000, growth: 2, tries: 3, keepAliveAfter: 25_000, verb: 300_000 };
const CAPABILITIES = encodeSessionless(Uint8Array.from(Buffer.from('811c6320003800018004020000000021', 'hex')));

/** After the RMCP and session headers. */
const AT_TAG = 16;
const UNAUTHORIZED_NAME = 0x0d;

class Rig {
  now = 0;
  #fill: number;
  readonly session: IpmiSession;
  readonly signals: SessionSignal[] = [];
  peer: HandshakePeer | null = null;
  wakeAt: number | null = null;
  sent: Uint8Array[] = [];

  /** `fill`: before the first random byte. */
  constructor(fill = 0) {
    this.#fill = fill;
    this.session = new IpmiSession(
      { login: LOGIN, timings: TIMINGS, random: (count) => new Uint8Array(count).fill(++this.#fill) },
      0,
    );
    this.take(this.session.start());
  }

  take(reaction: Reaction): void {
    this.sent = [...reaction.send];
    this.signals.push(...reaction.signals);
    this.wakeAt = reaction.wakeAt;
  }

  /** The names of the last packets sent. */
  get sentNames(): string[] {
    return this.sent.map((bytes) => {
      const packet = decodePacket(bytes);
      if (packet.kind !== 'rmcp-plus') return packet.kind;
      if (packet.sessionId === 0) return `payload ${packet.payloadType.toString(16)}`;
      const message = this.bmc.open(packet);
      return `command ${((message[1] ?? 0) >> 2).toString(16)}/${message[5]?.toString(16)} rq ${(message[4] ?? 0) >> 2} #${packet.sequence}`;
    });
  }

  get bmc(): SimulatedSession {
    if (!this.peer) throw new Error('no session yet');
    return this.peer.session;
  }

  receive(bytes: Uint8Array): void {
    this.take(this.session.receive(bytes, this.now));
  }

  /** Advances to the next wake-up without a packet. */
  silence(): void {
    this.now = this.wakeAt ?? this.now;
    this.take(this.session.wake(this.now));
  }

  answerHandshake(): void {
    const [sent = new Uint8Array()] = this.sent.slice(-1);
    const packet = decodePacket(sent);
    if (packet.kind === 'rmcp-plus' && packet.payloadType === PAYLOAD.openSessionRequest) {
      const suite = packet.payload[12] === SUITE_17.authentication ? SUITE_17 : SUITE_3;
      this.peer = new HandshakePeer(suite, Buffer.from(packet.payload).readUInt32LE(4));
    }
    if (!this.peer) throw new Error('no handshake to answer');
    this.receive(this.peer.answer(sent));
  }

  answer(code = 0, ...data: readonly number[]): void {
    const [sent = new Uint8Array()] = this.sent.slice(-1);
    const packet = decodePacket(sent);
    if (packet.kind !== 'rmcp-plus') throw new Error(packet.kind);
    const request = this.bmc.open(packet);
    const head = Uint8Array.of(0x81, (request[1] ?? 0) | 4);
    const body = Uint8Array.of(0x20, request[4] ?? 0, request[5] ?? 0, code, ...data);
    const message = Uint8Array.of(...head, checksum(head), ...body, checksum(body));
    this.receive(this.bmc.seal(PAYLOAD.ipmi, message));
  }

  open(): void {
    this.receive(CAPABILITIES);
    for (let step = 0; step < 3; step++) this.answerHandshake();
    this.answer(0, 4);
  }
}

describe('opening a session', () => {
  it('requests the capabilities, opens a session, and raises the privilege', () => {
    const rig = new Rig();
    expect(rig.sentNames).toEqual(['sessionless']);
    rig.receive(CAPABILITIES);
    expect(rig.sentNames).toEqual(['payload 10']);
    rig.answerHandshake();
    expect(rig.sentNames).toEqual(['payload 12']);
    rig.answerHandshake();
    expect(rig.sentNames).toEqual(['payload 14']);
    rig.answerHandshake();
    expect(rig.sentNames).toEqual(['command 6/3b rq 0 #1']);
    rig.answer(0, 4);
    expect(rig.signals).toEqual([{ kind: 'opened', suite: 17, privilege: 'administrator' }]);
  });

  it('takes no refusal with another tag than its own, which begins at random', () => {
    const rig = new Rig(0x40);
    rig.receive(CAPABILITIES);
    for (const answer of [PAYLOAD.openSessionResponse, PAYLOAD.rakp2, PAYLOAD.rakp4]) {
      const { sent } = rig;
      expect(sent[0]?.[AT_TAG]).toBe(0x41);
      // As a host sends it that knows the addresses and ports, and cannot read the requests.
      for (let tag = 0; tag <= 0xff; tag += 1) {
        if (tag !== 0x41) rig.receive(encodeHandshake(answer, Uint8Array.of(tag, UNAUTHORIZED_NAME)));
      }
      rig.sent = sent;
      rig.answerHandshake();
    }
    rig.answer(0, 4);
    expect(rig.signals).toMatchObject([{ kind: 'opened' }]);
  });

  it('retransmits the first request with growing timeouts, then reports the BMC as unreachable', () => {
    const rig = new Rig();
    const waits: (number | null)[] = [rig.wakeAt];
    rig.silence();
    waits.push(rig.wakeAt);
    rig.silence();
    waits.push(rig.wakeAt);
    rig.silence();
    expect(waits).toEqual([1000, 3000, 7000]);
    expect(rig.signals).toMatchObject([{ kind: 'ended', error: { failure: 'unreachable', retryable: true } }]);
    expect(rig.wakeAt).toBeNull();
  });

  it('restarts from Open Session with new ids when a RAKP reply is lost', () => {
    const rig = new Rig();
    rig.receive(CAPABILITIES);
    const [first] = rig.sent;
    rig.answerHandshake();
    rig.silence();
    expect(rig.sentNames).toEqual(['payload 10']);
    expect(rig.sent[0]).not.toEqual(first);
    for (let step = 0; step < 3; step++) rig.answerHandshake();
    rig.answer(0, 4);
    expect(rig.signals).toMatchObject([{ kind: 'opened' }]);
  });

  it('closes a session that the BMC may have opened when the last reply is lost', () => {
    const rig = new Rig();
    rig.receive(CAPABILITIES);
    rig.answerHandshake();
    rig.answerHandshake();
    rig.peer?.answer(rig.sent[0] ?? new Uint8Array());
    rig.silence();
    expect(rig.sentNames).toEqual(['command 6/3c rq 0 #1', 'payload 10']);
  });

  it('tries suite 3 when suite 17 gets no reply', () => {
    const rig = new Rig();
    rig.receive(CAPABILITIES);
    for (let wait = 0; wait < TIMINGS.tries; wait++) rig.silence();
    for (let step = 0; step < 3; step++) rig.answerHandshake();
    rig.answer(0, 4);
    expect(rig.signals).toMatchObject([{ kind: 'opened', suite: 3 }]);
  });

  it('requests operator when administrator is refused, and closes when that is refused too', () => {
    const rig = new Rig();
    rig.receive(CAPABILITIES);
    for (let step = 0; step < 3; step++) rig.answerHandshake();
    rig.answer(0x81);
    expect(rig.sentNames).toEqual(['command 6/3b rq 1 #2']);
    rig.answer(0x81);
    expect(rig.sentNames).toEqual(['command 6/3c rq 2 #3']);
    rig.answer();
    expect(rig.signals).toMatchObject([{ kind: 'ended', error: { failure: 'privilege' } }]);
  });
});

describe('an open session', () => {
  it('sends one request at a time and matches the replies', () => {
    const rig = new Rig();
    rig.open();
    rig.take(rig.session.request(1, getChassisStatus(), rig.now));
    expect(rig.sentNames).toEqual(['command 0/1 rq 1 #2']);
    const first = rig.sent;
    rig.take(rig.session.request(2, getChassisStatus(), rig.now));
    expect(rig.sentNames).toEqual([]);
    rig.sent = first;
    rig.answer(0, 1, 0, 0);
    expect(rig.sentNames).toEqual(['command 0/1 rq 2 #3']);
    expect(rig.signals.at(-1)).toMatchObject({ kind: 'answered', id: 1, reply: { data: Uint8Array.of(1, 0, 0) } });
  });

  it('retransmits with the same request number in a new packet', () => {
    const rig = new Rig();
    rig.open();
    rig.take(rig.session.request(1, getChassisStatus(), rig.now));
    rig.silence();
    expect(rig.sentNames).toEqual(['command 0/1 rq 1 #3']);
    rig.answer(0, 1, 0, 0);
    expect(rig.signals.at(-1)).toMatchObject({ kind: 'answered', id: 1 });
  });

  it('never retransmits a reset, and reports the lost reply', () => {
    const rig = new Rig();
    rig.open();
    rig.take(rig.session.request(1, chassisControl('reset'), rig.now));
    expect(rig.wakeAt).toBe(7000);
    rig.silence();
    expect(rig.sentNames).toEqual(['command 6/3c rq 2 #3']);
    expect(rig.signals.slice(-2)).toMatchObject([
      { kind: 'failed', id: 1, error: { failure: 'vanished' } },
      { kind: 'ended', error: { failure: 'vanished' } },
    ]);
  });

  it('sends keep-alives when idle, and detects a lost BMC', () => {
    const rig = new Rig();
    rig.open();
    expect(rig.wakeAt).toBe(25_000);
    rig.silence();
    expect(rig.sentNames).toEqual(['command 6/1 rq 1 #2']);
    rig.answer(0, ...new Uint8Array(11));
    expect(rig.wakeAt).toBe(50_000);
    for (let wait = 0; wait <= TIMINGS.tries; wait++) rig.silence();
    expect(rig.signals.at(-1)).toMatchObject({ kind: 'ended', error: { failure: 'vanished' } });
  });

  it('ignores forged packets, and mentions them after a timeout', () => {
    const rig = new Rig();
    rig.open();
    rig.take(rig.session.request(1, getChassisStatus(), rig.now));
    const forged = rig.bmc.seal(PAYLOAD.ipmi, Uint8Array.of(1));
    rig.receive(forged.with(forged.length - 1, (forged.at(-1) ?? 0) ^ 1));
    rig.receive(forged.with(5, 0x00));
    expect(rig.signals).toHaveLength(1);
    for (let wait = 0; wait < TIMINGS.tries; wait++) rig.silence();
    expect(rig.signals.at(-1)).toMatchObject({ error: { message: expect.stringContaining('not authenticated') } });
  });

  it('sends Close Session, fails outstanding requests, and ends', () => {
    const rig = new Rig();
    rig.open();
    rig.take(rig.session.request(1, getChassisStatus(), rig.now));
    rig.take(rig.session.close(rig.now));
    expect(rig.sentNames).toEqual(['command 6/3c rq 2 #3']);
    rig.answer();
    expect(rig.signals.slice(-2)).toMatchObject([
      { kind: 'failed', id: 1, error: { failure: 'closed' } },
      { kind: 'ended', error: null },
    ]);
    rig.take(rig.session.request(2, getChassisStatus(), rig.now));
    expect(rig.signals.at(-1)).toMatchObject({ kind: 'failed', id: 2, error: { failure: 'closed' } });
  });
});
