// Echoes on the wire of a namespace, answered by a kernel.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { echoReplyFrom, echoRequest, openEchoSocket, TOKEN_BYTES } from '../../../appliance/net/udp/echo-socket.ts';
import { ip } from '../../boot/leases/lease-fixtures.ts';

const TOKEN = Uint8Array.from({ length: TOKEN_BYTES }, (_, at) => at + 1);

/** As a raw socket shows it: the IP header first. */
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
  it('tells who sent it, also with options in its IP header', () => {
    expect(echoReplyFrom(reply('10.0.0.7', TOKEN), TOKEN)).toBe('10.0.0.7');
    expect(echoReplyFrom(reply('10.0.0.7', TOKEN, { words: 15 }), TOKEN)).toBe('10.0.0.7');
  });

  it('is nobody’s with another token, of another type, or cut short at any byte', () => {
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

  it('is nobody’s when it is anything else', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => echoReplyFrom(bytes, TOKEN) === null));
  });
});

describe('an echo socket', () => {
  it('hears who is there, and not who is not', async () => {
    const socket = openEchoSocket('lo', TOKEN);
    try {
      for (const address of ['127.0.0.1', '127.0.0.77']) socket.ask(ip(address));
      const heard: string[] = [];
      await expect.poll(() => heard.push(...socket.answered()) && heard.length).toBeGreaterThanOrEqual(2);
      expect(heard.sort()).toEqual(['127.0.0.1', '127.0.0.77']);
      // A route that is not on this interface.
      expect(() => socket.ask(ip('192.0.2.1'))).not.toThrow();
      expect(socket.answered()).toEqual([]);
    } finally {
      socket.close();
    }
    expect(socket.answered()).toEqual([]);
  });

  it('cannot be had of an interface that is not there', () => {
    expect(() => openEchoSocket('nosuch0', TOKEN)).toThrow('ENODEV');
  });
});
