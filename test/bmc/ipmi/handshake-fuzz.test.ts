// A million corrupted packets over the steps of the handshake and the open session: none crashes, none is accepted.

import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import { beginHandshake, continueHandshake, type Handshake } from '../../../appliance/bmc/ipmi/handshake.ts';
import { SessionChannel } from '../../../appliance/bmc/ipmi/session-channel.ts';
import { IpmiDecodeError } from '../../../appliance/codecs/ipmi/errors.ts';
import { decodePacket, PAYLOAD } from '../../../appliance/codecs/ipmi/packet.ts';
import { INPUTS } from '../../attack-tally.ts';
import { HandshakePeer, LOGIN, OFFER } from './handshake-peer.ts';

const PER_STEP = INPUTS.bmcHandshake / 4;
const CONSOLE_SESSION = 0x11223344;

/** xorshift32: the same million on every run, and cheap. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** Offsets of bytes without meaning: RMCP's reserved byte and sequence, and the reserved bytes of each message. */
type Meaningless = ReadonlySet<number>;

/** Flips bits, overwrites bytes, truncates or extends; always changes at least one meaningful byte. */
function* corrupted(genuine: Uint8Array, meaningless: Meaningless, count: number): Generator<Uint8Array> {
  const next = numbers(0x5eed ^ genuine.length);
  const meaningful = Array.from(genuine.keys()).filter((at) => !meaningless.has(at));
  const pick = (): number => meaningful[next() % meaningful.length] ?? 0;
  for (let made = 0; made < count; made++) {
    const kind = next() % 8;
    if (kind === 0) {
      yield genuine.slice(0, next() % genuine.length);
      continue;
    }
    const bytes = Uint8Array.from(genuine);
    const at = pick();
    bytes[at] = (bytes[at] ?? 0) ^ (kind < 5 ? 1 << (next() % 8) : (next() % 255) + 1);
    for (let more = kind === 7 ? next() % 8 : 0; more > 0; more--) {
      const other = pick();
      if (other !== at) bytes[other] = next() & 0xff;
    }
    yield bytes;
  }
}

const peer = new HandshakePeer(OFFER.suite, CONSOLE_SESSION);
const seed = { tag: 7, consoleSessionId: CONSOLE_SESSION, consoleRandom: new Uint8Array(16).fill(0xa5) };
const begun = beginHandshake(OFFER, seed, LOGIN);
const openResponse = peer.answer(begun.send);

const advance = (handshake: Handshake, packet: Uint8Array) => {
  const step = continueHandshake(handshake, packet);
  if (step.kind !== 'continued') throw new Error(`the genuine reply is ${step.kind}`);
  return step;
};

const afterOpen = advance(begun.handshake, openResponse);
const rakp2 = peer.answer(afterOpen.send);
const afterRakp2 = advance(afterOpen.handshake, rakp2);
const rakp4 = peer.answer(afterRakp2.send);

// RMCP's reserved byte and sequence; the two flags beside the payload type and the sequence number, which have no meaning
// outside a session.
const HEADER: readonly number[] = [1, 2, 5, 10, 11, 12, 13];
/** The granted privilege, which Set Session Privilege decides later, and the reserved bytes of the algorithms. */
const OPEN_RESERVED = [18, 19, 29, 30, 33, 34, 35, 37, 38, 41, 42, 43, 45, 46, 49, 50, 51];

function* counted(task: TestContext['task'], ...what: Parameters<typeof corrupted>): Generator<Uint8Array> {
  let inputs = 0;
  for (const packet of corrupted(...what)) {
    inputs += 1;
    yield packet;
  }
  task.meta.inputs = inputs;
}

describe('a million corrupted packets', () => {
  // Stack traces of the refusals would take most of the time.
  const { stackTraceLimit } = Error;
  beforeAll(() => {
    Error.stackTraceLimit = 0;
  });
  afterAll(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });

  it('genuine replies establish a session', () => {
    expect(continueHandshake(afterRakp2.handshake, rakp4).kind).toBe('established');
  });

  it('as Open Session Responses are rejected, or make the RAKP 2 fail', ({ task }) => {
    let followed = 0;
    for (const packet of counted(task, openResponse, new Set([...HEADER, ...OPEN_RESERVED]), PER_STEP)) {
      const step = continueHandshake(begun.handshake, packet);
      if (step.kind !== 'continued') continue;
      // This message is not authenticated; but its session id goes into every later hash.
      if (followed++ % 16 === 0) expect(continueHandshake(step.handshake, rakp2).kind).not.toBe('continued');
    }
    expect(followed).toBeGreaterThan(0);
  });

  it('as RAKP 2 are never accepted', ({ task }) => {
    const outcomes = { ignored: 0, refused: 0, continued: 0, established: 0 };
    for (const packet of counted(task, rakp2, new Set([...HEADER, 18, 19]), PER_STEP)) {
      outcomes[continueHandshake(afterOpen.handshake, packet).kind] += 1;
    }
    expect(outcomes).toMatchObject({ continued: 0, established: 0 });
  });

  it('as RAKP 4 never open a session', ({ task }) => {
    const outcomes = { ignored: 0, refused: 0, continued: 0, established: 0 };
    for (const packet of counted(task, rakp4, new Set([...HEADER, 18, 19]), PER_STEP)) {
      outcomes[continueHandshake(afterRakp2.handshake, packet).kind] += 1;
    }
    expect(outcomes).toMatchObject({ continued: 0, established: 0 });
  });

  it('inside the session are never decrypted', ({ task }) => {
    const step = continueHandshake(afterRakp2.handshake, rakp4);
    if (step.kind !== 'established') throw new Error(step.kind);
    const channel = new SessionChannel(step.established, (count) => new Uint8Array(count));
    const genuine = peer.session.seal(PAYLOAD.ipmi, Uint8Array.of(0x81, 0x1c, 0x63, 0x20, 0x04, 0x01, 0x00, 0xdb));
    let opened = 0;
    for (const bytes of counted(task, genuine, new Set([1, 2]), PER_STEP)) {
      try {
        const packet = decodePacket(bytes);
        if (channel.isOurs(packet) && channel.open(packet) !== null) opened += 1;
      } catch (error) {
        if (!(error instanceof IpmiDecodeError)) throw error;
      }
    }
    expect(opened).toBe(0);
    const packet = decodePacket(genuine);
    expect(channel.isOurs(packet) && channel.open(packet)).toBeInstanceOf(Uint8Array);
  });
});
