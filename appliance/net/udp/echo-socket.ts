// Sends ICMP echo requests (RFC 792) on one interface, and returns the addresses that replied. Node has no such sockets, and
// cannot wait on one of ours: the caller polls.

import { type Ipv4, ipv4FromNumber, ipv4ToNumber } from '../../domain/ipv4.ts';
import { AF_INET, bindToDevice, type CSockets, cSockets, integer, socketAddress, systemError } from './c-sockets.ts';

const SOCK_RAW_CLOEXEC_NONBLOCK = 3 | 0o2000000 | 0o4000;
const IPPROTO_ICMP = 1;
const SOL_RAW = 255;
const ICMP_FILTER = 1;
const ECHO = 8;
const ECHO_REPLY = 0;
/** A set bit filters a type out. */
const REPLIES_ONLY = ~(1 << ECHO_REPLY);

const HEADER_BYTES = 8;
/** Distinguishes our echo requests from those of other programs, and prevents forged replies. */
export const TOKEN_BYTES = 8;
/** The longest IP header, and one of our echo messages. */
const LONGEST = 60 + HEADER_BYTES + TOKEN_BYTES;
/** Per poll: a flood of unsolicited replies must not block the process. */
const MOST_AT_ONCE = 1024;

export interface EchoSocket {
  /** Never fails: an unreachable address does not reply. */
  ask(address: Ipv4): void;
  /** The addresses that replied since the last call. */
  answered(): Ipv4[];
  close(): void;
}

export type OpenEcho = (device: string, token: Uint8Array) => EchoSocket;

/** Throws without the permission for raw sockets. */
export const openEchoSocket: OpenEcho = (device, token) => {
  const c = cSockets();
  const fd = c.socket(AF_INET, SOCK_RAW_CLOEXEC_NONBLOCK, IPPROTO_ICMP);
  if (fd < 0) throw systemError('socket');
  const filter = integer(REPLIES_ONLY);
  const ready = bindToDevice(c, fd, device) && c.setsockopt(fd, SOL_RAW, ICMP_FILTER, filter, filter.length) === 0;
  if (ready) return new RawEchoSocket(c, fd, token);
  const error = systemError('setsockopt');
  c.close(fd);
  throw error;
};

class RawEchoSocket implements EchoSocket {
  readonly #c: CSockets;
  readonly #token: Uint8Array;
  readonly #request: Uint8Array;
  readonly #buffer = Buffer.alloc(LONGEST);
  #fd: number | null;

  constructor(c: CSockets, fd: number, token: Uint8Array) {
    this.#c = c;
    this.#fd = fd;
    this.#token = token;
    this.#request = echoRequest(token);
  }

  ask(address: Ipv4): void {
    if (this.#fd === null) return;
    const to = socketAddress(ipv4ToNumber(address), 0);
    this.#c.sendto(this.#fd, this.#request, this.#request.length, 0, to, to.length);
  }

  answered(): Ipv4[] {
    const found: Ipv4[] = [];
    for (let left = MOST_AT_ONCE; left > 0 && this.#fd !== null; left--) {
      const length = this.#c.recv(this.#fd, this.#buffer, this.#buffer.length, 0);
      if (length < 0) break;
      const from = echoReplyFrom(this.#buffer.subarray(0, length), this.#token);
      if (from !== null) found.push(from);
    }
    return found;
  }

  close(): void {
    if (this.#fd !== null) this.#c.close(this.#fd);
    this.#fd = null;
  }
}

/** Identifier and sequence number stay zero: the token identifies the request. */
export function echoRequest(token: Uint8Array): Uint8Array {
  const packet = Buffer.alloc(HEADER_BYTES + token.length);
  packet[0] = ECHO;
  packet.set(token, HEADER_BYTES);
  packet.writeUInt16BE(checksum(packet), 2);
  return packet;
}

/** The sender of a reply to our request, from a packet with its IP header; null: it is no such reply. */
export function echoReplyFrom(packet: Uint8Array, token: Uint8Array): Ipv4 | null {
  const bytes = Buffer.from(packet.buffer, packet.byteOffset, packet.length);
  const start = ((bytes[0] ?? 0) & 0x0f) * 4;
  const body = bytes.subarray(start);
  if (start < 20 || body.length < HEADER_BYTES + token.length || body[0] !== ECHO_REPLY) return null;
  return body.subarray(HEADER_BYTES).equals(token) ? ipv4FromNumber(bytes.readUInt32BE(12)) : null;
}

/** RFC 1071, for an even number of bytes. */
function checksum(packet: Buffer): number {
  let sum = 0;
  for (let at = 0; at < packet.length; at += 2) sum += packet.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}
