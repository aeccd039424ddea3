// Old iPXE builds, QEMU's ROM among them, configure IPv6 beside IPv4 and wait up to 16 seconds for a router before they continue.
// A router advertisement that offers nothing (RFC 4861 §4.2, lifetime 0: not a default router, no prefix) ends the wait:
// measured 23.6 s without and 9.8 s with it, from power-on to kernel. Hosts that use IPv6 ignore it.
//
// It is sent only after a reply to an iPXE client, on that client's interface.

import koffi from 'koffi';
import { bindToDevice, cSockets, integer } from './c-sockets.ts';

const AF_INET6 = 10;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const IPPROTO_ICMPV6 = 58;
const IPPROTO_IPV6 = 41;
const IPV6_MULTICAST_HOPS = 18;

/** Type 134, code 0, checksum by the kernel; hop limit, flags, lifetime, reachable and retransmission time all unspecified. */
const ADVERTISEMENT = Buffer.from([134, ...Array<number>(15).fill(0)]);
/** ff02::1, all nodes on the link. */
const ALL_NODES = Buffer.from('ff020000000000000000000000000001', 'hex');
/** RFC 4861 §6.1.2: a lower value means that a router forwarded it, and it is ignored. */
const HOP_LIMIT = 255;
/** iPXE retries about every second; one of these is in time for whichever step it waits at. */
const SEND_AT_MS = [50, 500, 1500, 3000] as const;

interface Log {
  debug(fields: object, message: string): void;
}

export class RouterHints {
  readonly #log: Log;
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Interfaces with a round in progress: a hundred machines at once need only one. */
  readonly #busy = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  /** Never fails: without IPv6, or without the permission for raw sockets, those machines wait the full time. */
  send(device: string): void {
    if (this.#busy.has(device)) return;
    this.#busy.add(device);
    for (const [at, delay] of SEND_AT_MS.entries()) {
      const timer = setTimeout(() => {
        this.#timers.delete(timer);
        if (at === SEND_AT_MS.length - 1) this.#busy.delete(device);
        const problem = advertise(device);
        if (problem !== null) this.#log.debug({ interface: device, problem }, 'cannot send the router advertisement');
      }, delay);
      this.#timers.add(timer);
    }
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}

/** The problem, or null. */
function advertise(device: string): string | null {
  const c = cSockets();
  const index = c.if_nametoindex(device);
  if (index === 0) return 'no such interface';
  const fd = c.socket(AF_INET6, SOCK_RAW_CLOEXEC, IPPROTO_ICMPV6);
  if (fd < 0) return `no raw socket: error ${koffi.errno()}`;
  try {
    const hops = integer(HOP_LIMIT);
    const ready =
      bindToDevice(c, fd, device) && c.setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, hops, hops.length) === 0;
    if (!ready) return `setsockopt: error ${koffi.errno()}`;
    const to = allNodesOn(index);
    const sent = c.sendto(fd, ADVERTISEMENT, ADVERTISEMENT.length, 0, to, to.length);
    return sent === ADVERTISEMENT.length ? null : `sendto: error ${koffi.errno()}`;
  } finally {
    c.close(fd);
  }
}

/** struct sockaddr_in6: family, port, flow, address, scope. */
function allNodesOn(index: number): Buffer {
  const address = Buffer.alloc(28);
  address.writeUInt16LE(AF_INET6, 0);
  ALL_NODES.copy(address, 8);
  address.writeUInt32LE(index, 24);
  return address;
}
