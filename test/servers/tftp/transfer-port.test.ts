import { describe, expect, it } from 'vitest';
import { decodeTftp } from '../../../appliance/codecs/tftp/decode.ts';
import { encodeTftp } from '../../../appliance/codecs/tftp/encode.ts';
import type { TftpPacket } from '../../../appliance/codecs/tftp/packet.ts';
import { type Endpoint, endpointFrom } from '../../../appliance/net/udp/endpoint.ts';
import { type Part, wholeOf } from '../../../appliance/net/udp/held-bytes.ts';
import { openContentNow } from '../../../appliance/servers/tftp/file-bytes.ts';
import type { TransferOutcome, TransferStall } from '../../../appliance/servers/tftp/tftp-transfer.ts';
import { TransferActivity } from '../../../appliance/servers/tftp/transfer-activity.ts';
import { TransferPort } from '../../../appliance/servers/tftp/transfer-port.ts';

const FIRST = endpointFrom(0x0a00_0001, 2070);
const SECOND = endpointFrom(0x0a00_0001, 2071);
const TERMS = { blockSize: 512, windowSize: 1, timeoutSeconds: null, acknowledged: new Map<string, string>() };

function portAt(start: number) {
  let now = start;
  let run: (() => void) | null = null;
  const every = (_period: number, each: () => void) => {
    run = each;
    return {
      cancel: () => {
        run = null;
      },
    };
  };
  const port = new TransferPort({ clock: { now: () => now, every }, idleMs: 32_000, rolloverTo: 0 });
  const sent: { readonly packet: TftpPacket; readonly to: Endpoint }[] = [];
  const send = (bytes: Uint8Array, to: Endpoint): void => void sent.push({ packet: decodeTftp(bytes.slice()), to });
  const socket = { send, sendPart: (part: Part, to: Endpoint) => send(wholeOf(part), to) };
  const ended: TransferOutcome[] = [];
  const stalls: TransferStall[] = [];
  return {
    port,
    sent,
    ended,
    stalls,
    isTicking: () => run !== null,
    pass: (ms: number) => {
      now += ms;
      run?.();
    },
    begin: (client: Endpoint, activity?: TransferActivity) =>
      port.begin(
        { client, request: new Uint8Array(), mode: 'octet', terms: TERMS, firstReplies: 5 },
        openContentNow({ bytes: new Uint8Array(5) }),
        socket,
        { onStall: (stall) => stalls.push(stall), onEnd: (outcome) => ended.push(outcome) },
        activity,
      ),
    hears: (packet: TftpPacket | Uint8Array, from: Endpoint) =>
      port.onPacket(packet instanceof Uint8Array ? packet : encodeTftp(packet), from, socket),
  };
}

const ACK = { op: 'ack', block: 1 } as const;

describe('the transfers of a port', () => {
  it('report once that they make no progress', () => {
    const { begin, pass, stalls } = portAt(0);
    begin(FIRST);
    for (const wait of [1000, 2000]) pass(wait);
    expect(stalls).toEqual([]);
    for (const wait of [4000, 8000]) pass(wait);
    expect(stalls).toMatchObject([{ blocks: 0, reason: expect.stringContaining('never acknowledged') }]);
  });

  it('are distinguished by their clients', () => {
    const { begin, hears, ended, sent } = portAt(0);
    const [one, other] = [begin(FIRST), begin(SECOND)];
    expect(sent.map(({ to }) => to)).toEqual([FIRST, SECOND]);
    hears(ACK, SECOND);
    expect([one.finished, other.finished]).toEqual([false, true]);
    expect(ended).toMatchObject([{ result: 'completed', bytes: 5 }]);
  });

  it('share one timer, which is stopped when there are none', () => {
    const { begin, hears, pass, sent, isTicking } = portAt(0);
    expect(isTicking()).toBe(false);
    begin(FIRST);
    begin(SECOND);
    hears(ACK, FIRST);
    pass(1000);
    expect(sent.map(({ to }) => to)).toEqual([FIRST, SECOND, SECOND]);
    hears(ACK, SECOND);
    pass(3000);
    expect(isTicking()).toBe(false);
  });

  it('keep their client known for three seconds after the last of them has ended', () => {
    const { port, begin, hears, pass, sent } = portAt(0);
    begin(FIRST);
    expect(port.hasJustEnded(FIRST)).toBe(false);
    hears(ACK, FIRST);
    pass(2000);
    for (const client of [SECOND, FIRST]) {
      begin(client);
      hears(ACK, client);
    }
    pass(2000);
    expect([port.hasJustEnded(FIRST), port.hasJustEnded(SECOND)]).toEqual([true, true]);
    const before = sent.length;
    hears(ACK, FIRST);
    expect(sent).toHaveLength(before);
    pass(1000);
    hears(ACK, FIRST);
    expect(sent.slice(before)).toMatchObject([{ to: FIRST, packet: { op: 'error', code: 5 } }]);
  });

  it('store the time of the last packet of their client, and whether it acknowledged anything', () => {
    const { begin, hears, pass } = portAt(5);
    const activity = new TransferActivity();
    begin(FIRST, activity);
    expect(activity.lastPacketAt).toBe(5);
    pass(70);
    hears({ op: 'ack', block: 0 }, FIRST);
    expect([activity.lastPacketAt, activity.isAnswered]).toEqual([75, false]);
    hears(ACK, FIRST);
    expect(activity.isAnswered).toBe(true);
  });

  it('do not answer noise, nor an ERROR of another TID', () => {
    const { hears, sent } = portAt(0);
    for (const noise of [[], [0, 4], [0, 9, 0, 0], [1, 4, 0, 0]]) hears(Uint8Array.from(noise), FIRST);
    hears({ op: 'error', code: 0, message: 'no' }, FIRST);
    expect(sent).toEqual([]);
  });

  it('all end when the port stops, and their clients get the reason', () => {
    const { port, begin, sent, ended, isTicking } = portAt(0);
    begin(FIRST);
    begin(SECOND);
    port.stop('because');
    expect(sent.slice(2).map(({ to, packet }) => [to, packet.op])).toEqual([
      [FIRST, 'error'],
      [SECOND, 'error'],
    ]);
    expect(ended.map(({ reason }) => reason)).toEqual(['because', 'because']);
    expect(isTicking()).toBe(false);
  });
});
