// The C library's calls for sockets that Node cannot open, and their arguments. Linux on x86-64 and arm64:
// asm-generic/socket.h, bits/socket.h.

import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';

export const AF_INET = 2;
const SOL_SOCKET = 1;
const SO_BINDTODEVICE = 25;

export interface CSockets {
  socket(domain: number, type: number, protocol: number): number;
  setsockopt(fd: number, level: number, option: number, value: Uint8Array, length: number): number;
  bind(fd: number, address: Uint8Array, length: number): number;
  sendto(fd: number, bytes: Uint8Array, length: number, flags: number, to: Uint8Array, toLength: number): number;
  recv(fd: number, into: Uint8Array, length: number, flags: number): number;
  if_nametoindex(name: string): number;
  close(fd: number): number;
}

/** Looks the functions up at every call: callers use it rarely, or keep the result. */
export function cSockets(): CSockets {
  const c = koffi.load(null);
  return {
    socket: c.func('int socket(int domain, int type, int protocol)'),
    setsockopt: c.func('int setsockopt(int fd, int level, int option, const uint8_t *value, uint32_t length)'),
    bind: c.func('int bind(int fd, const uint8_t *address, uint32_t length)'),
    sendto: c.func(
      'int64_t sendto(int fd, const uint8_t *bytes, uint64_t length, int flags, const uint8_t *to, uint32_t to_length)',
    ),
    recv: c.func('int64_t recv(int fd, _Out_ uint8_t *into, uint64_t length, int flags)'),
    if_nametoindex: c.func('uint32_t if_nametoindex(const char *name)'),
    close: c.func('int close(int fd)'),
  };
}

/** Limits the socket to this interface; returns whether that succeeded. */
export function bindToDevice(c: CSockets, fd: number, device: string): boolean {
  const name = Buffer.from(`${device}\0`, 'latin1');
  return c.setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, name.length) === 0;
}

export function integer(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** struct sockaddr_in. */
export function socketAddress(address: number, port: number): Buffer {
  const bytes = Buffer.alloc(16);
  bytes.writeUInt16LE(AF_INET, 0);
  bytes.writeUInt16BE(port, 2);
  bytes.writeUInt32BE(address, 4);
  return bytes;
}

/** The error of the last call, in the form that Node uses. */
export function systemError(call: string): NodeJS.ErrnoException {
  const code = getSystemErrorName(-koffi.errno());
  return Object.assign(new Error(`${call}: ${code}`), { code });
}
