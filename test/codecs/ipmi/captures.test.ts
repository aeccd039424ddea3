// A recorded session of ipmitool with OpenIPMI's simulator, suite 3, decrypted with the lab's password.

import { describe, expect, it } from 'vitest';
import { SUITE_3 } from '../../../appliance/codecs/ipmi/cipher-suite.ts';
import { getBootFlags } from '../../../appliance/codecs/ipmi/commands/boot-options.ts';
import { getChassisStatus } from '../../../appliance/codecs/ipmi/commands/chassis.ts';
import { getChannelAuthentication } from '../../../appliance/codecs/ipmi/commands/session-commands.ts';
import { IpmiDecodeError } from '../../../appliance/codecs/ipmi/errors.ts';
import { decodeReply } from '../../../appliance/codecs/ipmi/message.ts';
import { decodeOpenSessionResponse } from '../../../appliance/codecs/ipmi/open-session.ts';
import { decodePacket, PAYLOAD } from '../../../appliance/codecs/ipmi/packet.ts';
import { decodeRakp2, decodeRakp4 } from '../../../appliance/codecs/ipmi/rakp-messages.ts';
import { openPacket } from '../../../appliance/codecs/ipmi/sealed-packet.ts';
import {
  type KeyExchange,
  paddedKey,
  rakp2Code,
  rakp4Value,
  type SessionKeys,
  sameCode,
  sessionKeys,
} from '../../../appliance/codecs/ipmi/session-crypto.ts';
import { type Datagram, readPcap } from '../../captures/read-pcap.ts';

const datagrams = readPcap(new URL('../../captures/ipmi/ipmitool-suite-3-power-and-bootdev.pcap', import.meta.url));
const password = paddedKey(new TextEncoder().encode('admin'), 'password');
const IPMI_PORT = 623;

/** One console port is one session. */
const sessions = new Map<number, Datagram[]>();
for (const datagram of datagrams) {
  const port = datagram.sourcePort === IPMI_PORT ? datagram.destinationPort : datagram.sourcePort;
  sessions.set(port, [...(sessions.get(port) ?? []), datagram]);
}

const payloadOf = (session: readonly Datagram[], type: number): Uint8Array => {
  for (const { payload } of session) {
    const packet = decodePacket(payload);
    if (packet.kind === 'rmcp-plus' && packet.payloadType === type && packet.sessionId === 0) return packet.payload;
  }
  throw new Error(`no payload ${type}`);
};

function keysOf(session: readonly Datagram[]): { exchange: KeyExchange; keys: SessionKeys } {
  const opened = decodeOpenSessionResponse(payloadOf(session, PAYLOAD.openSessionResponse));
  const rakp1 = payloadOf(session, PAYLOAD.rakp1);
  const rakp2 = decodeRakp2(payloadOf(session, PAYLOAD.rakp2), SUITE_3.keyExchangeBytes);
  if (!opened.accepted || !rakp2.accepted) throw new Error('refused');
  const exchange: KeyExchange = {
    consoleSessionId: opened.consoleSessionId,
    bmcSessionId: opened.bmcSessionId,
    consoleRandom: rakp1.subarray(8, 24),
    bmcRandom: rakp2.bmcRandom,
    bmcGuid: rakp2.bmcGuid,
    role: rakp1[24] ?? 0,
    userName: rakp1.subarray(28),
  };
  expect(sameCode(rakp2.code, rakp2Code(SUITE_3, password, exchange))).toBe(true);
  const keys = sessionKeys(SUITE_3, password, exchange);
  const rakp4 = decodeRakp4(payloadOf(session, PAYLOAD.rakp4), SUITE_3.integrityBytes);
  expect(rakp4.accepted && sameCode(rakp4.integrityValue, rakp4Value(SUITE_3, keys.sik, exchange))).toBe(true);
  return { exchange, keys };
}

function messagesOf(session: readonly Datagram[], from: 'console' | 'bmc'): Uint8Array[] {
  const { keys } = keysOf(session);
  return session
    .filter(({ sourcePort }) => (sourcePort === IPMI_PORT) === (from === 'bmc'))
    .map(({ payload }) => decodePacket(payload))
    .filter((packet) => packet.kind === 'rmcp-plus' && packet.sessionId !== 0)
    .map((packet) => {
      if (packet.kind !== 'rmcp-plus') throw new Error('filtered');
      return openPacket(SUITE_3, keys, packet);
    });
}

const [powerStatus = [], bootDevice = [], oldSession = []] = [...sessions.values()];

describe('the recorded sessions', () => {
  it('start with the capabilities, outside of any session', () => {
    const packet = decodePacket(powerStatus[1]?.payload ?? new Uint8Array());
    if (packet.kind !== 'sessionless') throw new Error(packet.kind);
    const reply = decodeReply(packet.message);
    expect(reply.checksumsRight).toBe(true);
    expect(getChannelAuthentication('administrator', true).decode(reply.data)).toEqual({
      channel: 1,
      ipmi2: true,
      bmcKeySet: false,
      namedUsers: true,
    });
  });

  it('open with suite 3', () => {
    expect(decodeOpenSessionResponse(payloadOf(powerStatus, PAYLOAD.openSessionResponse))).toMatchObject({
      accepted: true,
      bmcSessionId: 0x0402,
      algorithms: { authentication: 1, integrity: 1, confidentiality: 1 },
    });
  });

  it('decrypt with the lab password to the commands that ipmitool sent', () => {
    const sent = messagesOf(powerStatus, 'console').map((message) => [(message[1] ?? 0) >> 2, message[5]]);
    expect(sent[0]).toEqual([0x06, 0x3b]);
    expect(sent).toContainEqual([0x00, 0x01]);
    expect(sent.at(-1)).toEqual([0x06, 0x3c]);
  });

  it('reply to the power status with correct checksums', () => {
    const replies = messagesOf(powerStatus, 'bmc').map(decodeReply);
    expect(replies.every((reply) => reply.checksumsRight)).toBe(true);
    const status = replies.find((reply) => reply.netFn === 0 && reply.command === 0x01);
    expect(getChassisStatus().decode(status?.data ?? new Uint8Array())).toMatchObject({ restorePolicy: 'stays off' });
  });

  it('set the boot device with all boot option parameters', () => {
    const options = messagesOf(bootDevice, 'console')
      .filter((message) => message[1] === 0 && message[5] === 0x08)
      .map((message) => Buffer.from(message.subarray(6, -1)).toString('hex'));
    expect(options.length).toBeGreaterThan(1);
    expect(options.some((option) => option.startsWith('05'))).toBe(true);
  });

  it('contain an ASF ping and its pong', () => {
    expect(decodePacket(oldSession[1]?.payload ?? new Uint8Array())).toEqual({ kind: 'pong', tag: 0, ipmi: true });
  });

  it('contain an IPMI 1.5 session, which is rejected by name', () => {
    expect(() => decodePacket(oldSession.at(-1)?.payload ?? new Uint8Array())).toThrow(IpmiDecodeError);
  });
});

describe('a boot flags reply', () => {
  it('is read as ipmi_sim sends it: the device, without the other bits', () => {
    expect(getBootFlags().decode(Uint8Array.of(1, 5, 0, 4, 0, 0, 0))).toEqual({
      usable: true,
      value: { valid: false, persistent: false, efi: false, device: 'network' },
    });
  });
});
