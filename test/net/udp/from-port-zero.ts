// Source port 0 (RFC 768: no reply is expected) is impossible with an ordinary socket: it needs a raw one.

import koffi from 'koffi';
import { expect, onTestFinished } from 'vitest';

const AF_INET = 2;
const SOCK_RAW = 3;
const IPPROTO_UDP = 17;
const UDP_HEADER_BYTES = 8;

/** Sends datagrams from port 0 to a port on loopback. */
export function fromPortZero(port: number): (payload: Uint8Array) => void {
  const c = koffi.load(null);
  const socket: (domain: number, type: number, protocol: number) => number = c.func('int socket(int, int, int)');
  const close: (fd: number) => number = c.func('int close(int)');
  const sendto: (...args: readonly (number | Buffer)[]) => number = c.func(
    'int64_t sendto(int, const uint8_t *, size_t, int, const uint8_t *, uint32_t)',
  );
  const fd = socket(AF_INET, SOCK_RAW, IPPROTO_UDP);
  if (fd < 0) throw new Error('a raw socket needs root');
  onTestFinished(() => void close(fd));
  const to = Buffer.from([AF_INET, 0, 0, 0, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
  return (payload) => {
    // Ports, length, and no checksum.
    const packet = Buffer.alloc(UDP_HEADER_BYTES + payload.length);
    packet.writeUInt16BE(port, 2);
    packet.writeUInt16BE(packet.length, 4);
    packet.set(payload, UDP_HEADER_BYTES);
    expect(sendto(fd, packet, packet.length, 0, to, to.length)).toBe(packet.length);
  };
}
