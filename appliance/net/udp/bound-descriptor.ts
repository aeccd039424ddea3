// UDP sockets that the C library creates and Node takes over. One is bound to an interface, because Node can neither bind to a
// device (SO_BINDTODEVICE) nor report the interface of a datagram; the other is bound to an address, because Node does not expose
// the descriptor of its own sockets, which batched calls need.

import { constants } from 'node:os';
import koffi from 'koffi';
import { ColdironError } from '../../domain/errors.ts';
import { type Ipv4, ipv4ToNumber } from '../../domain/ipv4.ts';
import { AF_INET, bindToDevice, cSockets, integer, socketAddress, systemError } from './c-sockets.ts';

const SOCK_DGRAM_CLOEXEC_NONBLOCK = 2 | 0o2000000 | 0o4000;
const SOL_SOCKET = 1;
const SO_REUSEADDR = 2;
const SO_BROADCAST = 6;
const SO_SNDBUF = 7;
const SO_RCVBUF = 8;
const SO_SNDBUFFORCE = 32;
const SO_RCVBUFFORCE = 33;

/**
 * About 1,600 packets: after a power cut all machines of a rack send requests at once, while the disk is being written to. The
 * replies to more would come after their clients' timeouts.
 */
const RECEIVE_BUFFER_BYTES = 1024 * 1024;
/** For whole windows to many clients at once; the rest is queued in this process. */
const SEND_BUFFER_BYTES = 1024 * 1024;

const REASONS: Readonly<Record<number, { readonly reason: string; readonly hint: string }>> = {
  [constants.errno.EADDRINUSE]: {
    reason: 'another program on this machine listens there already',
    hint: 'Stop the program that uses the port (ss -ulnp names it), then start again.',
  },
  [constants.errno.EACCES]: {
    reason: 'ports below 1024 need root or CAP_NET_BIND_SERVICE',
    hint: 'Start it as root or with CAP_NET_BIND_SERVICE.',
  },
  [constants.errno.EPERM]: {
    reason: 'binding to an interface needs root or CAP_NET_RAW',
    hint: 'Start it as root or with CAP_NET_RAW.',
  },
  [constants.errno.ENODEV]: {
    reason: 'this machine has no such interface',
    hint: 'Set an interface of this machine in the site file (ip -brief link lists them), then start again.',
  },
};

/**
 * The caller owns the descriptor; on failure none stays open. `shared` allows other programs of this machine that share too,
 * such as the DHCP client of another interface.
 */
export function openBoundDescriptor(device: string, port: number, shared = false): number {
  const c = cSockets();
  const where = `${device}, UDP port ${port}`;
  const fd = c.socket(AF_INET, SOCK_DGRAM_CLOEXEC_NONBLOCK, 0);
  if (fd < 0) throw failure(where, 'socket');
  try {
    const set = (option: number, value: Buffer): boolean =>
      c.setsockopt(fd, SOL_SOCKET, option, value, value.length) === 0;
    if (!bindToDevice(c, fd, device)) throw failure(where, 'SO_BINDTODEVICE');
    if (shared && !set(SO_REUSEADDR, integer(1))) throw failure(where, 'SO_REUSEADDR');
    if (!set(SO_BROADCAST, integer(1))) throw failure(where, 'SO_BROADCAST');
    // Above the system's limit it needs CAP_NET_ADMIN.
    if (!set(SO_RCVBUFFORCE, integer(RECEIVE_BUFFER_BYTES))) set(SO_RCVBUF, integer(RECEIVE_BUFFER_BYTES));
    const anyAddress = socketAddress(0, port);
    if (c.bind(fd, anyAddress, anyAddress.length) !== 0) throw failure(where, 'bind');
    return fd;
  } catch (error) {
    c.close(fd);
    throw error;
  }
}

/** The caller owns the descriptor. Fails as Node does: with an error whose `code` is EADDRINUSE and so on. */
export function openDescriptorAt(address: Ipv4, port: number): number {
  const c = cSockets();
  const fd = c.socket(AF_INET, SOCK_DGRAM_CLOEXEC_NONBLOCK, 0);
  if (fd < 0) throw systemError('socket');
  const set = (option: number, bytes: number): boolean => c.setsockopt(fd, SOL_SOCKET, option, integer(bytes), 4) === 0;
  if (!set(SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)) set(SO_RCVBUF, RECEIVE_BUFFER_BYTES);
  if (!set(SO_SNDBUFFORCE, SEND_BUFFER_BYTES)) set(SO_SNDBUF, SEND_BUFFER_BYTES);
  const here = socketAddress(ipv4ToNumber(address), port);
  if (c.bind(fd, here, here.length) === 0) return fd;
  const error = systemError('bind');
  c.close(fd);
  throw error;
}

/** The kernel's index of an interface; null: no such interface. Not from /sys, which may show another network namespace. */
export function interfaceIndexes(): (device: string) => number | null {
  const c = cSockets();
  return (device) => c.if_nametoindex(device) || null;
}

/** libuv allows other programs to share the port of a socket that it takes over: they would silently receive our datagrams. */
export function forbidSharing(fd: number): void {
  cSockets().setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, integer(0), 4);
}

/** For a descriptor that no socket took over. */
export const closeDescriptor = (fd: number): void => void cSockets().close(fd);

function failure(where: string, call: string): ColdironError {
  const errno = koffi.errno();
  const known = REASONS[errno];
  return new ColdironError(
    'service_unavailable',
    `cannot listen on ${where}: ${known?.reason ?? `${call} failed with error ${errno}`}`,
    [],
    known?.hint,
  );
}
