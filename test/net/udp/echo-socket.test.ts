// Echo requests in a network namespace, answered by the kernel.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { echoReplyFrom, echoRequest, openEchoSocket, TOKEN_BYTES } from '../../../appliance/net/udp/echo-socket.ts';
import { ip } from '../../boot/leases/lease-fixtures.ts';

const TOKEN = Uint8Array.from({ length: TOKEN_BYTES }, (_, at) => at + 1);

/** As a raw socket delivers it: the IP header first. */
function reply(from: string, token: Uint8Array, { words = 5, type = 0 } = {}): Buffer {
  const header = Buffer.alloc(words * 4);
  header[0] = 0x40 | words;
  header.set(from.split('.').map(Number), 12);
  const body = Buffer.from(echoRequest(token));
  body[0] = type;
  return Buffer.concat([header, body]);
}

describe('an echo request', () => {
  it('has the checksum of RFC 1071', () => {
    const packet = Buffer.from(echoRequest(TOKEN));
    let sum = 0;
    for (let at = 0; at < packet.length; at += 2) sum += packet.readUInt16BE(at);
    expect((sum & 0xffff) + (sum >>> 16)).toBe(0xffff);
  });
});

describe('an echo reply', () => {
  it('identifies its sender, also with options in its IP header', () => {
    expect(echoReplyFrom(reply('10.0.0.7', TOKEN), TOKEN)).toBe('10.0.0.7');
    expect(echoReplyFrom(reply('10.0.0.7', TOKEN, { words: 15 }), TOKEN)).toBe('10.0.0.7');
  });

  it('is ignored with another token, of another type, or truncated at any byte', () => {
    expect(
      echoReplyFrom(
        reply(
          '10.0.0.7',
          TOKEN.map((byte) => byte ^ 1),
        ),
        TOKEN,
      ),
    ).toBeNull();
    expect(echoReplyFrom(reply('10.0.0.7', TOKEN, { type: 8 }), TOKEN)).toBeNull();
    const whole = reply('10.0.0.7', TOKEN);
    for (let length = 0; length < whole.length; length++) {
      expect(echoReplyFrom(whole.subarray(0, length), TOKEN)).toBeNull();
    }
  });

  it('is ignored when it is any other packet', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => echoReplyFrom(bytes, TOKEN) === null));
  });
});

describe('an echo socket', () => {
  it('returns the addresses that reply, and no others', async () => {
    const socket = openEchoSocket('lo', TOKEN);
    try {
      for (const address of ['127.0.0.1', '127.0.0.77']) socket.ask(ip(address));
      const replies: string[] = [];
      await expect.poll(() => replies.push(...socket.answered()) && replies.length).toBeGreaterThanOrEqual(2);
      expect(replies.sort()).toEqual(['127.0.0.1', '127.0.0.77']);
      // A route through another interface.
      expect(() => socket.ask(ip('192.0.2.1'))).not.toThrow();
      expect(socket.answered()).toEqual([]);
    } finally {
      socket.close();
    }
    expect(socket.answered()).toEqual([]);
  });

  it('fails for an interface that does not exist', () => {
    expect(() => openEchoSocket('nosuch0', TOKEN)).toThrow('ENODEV');
  });
});
