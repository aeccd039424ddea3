// The address of this host from which packets to a destination leave, by the routes of the kernel.

import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { type Ipv4, parseIpv4 } from '../domain/ipv4.ts';

/** The discard service (RFC 863). Connecting a UDP socket sends nothing. */
const ANY_PORT = 9;

/** Null: there is no route. */
export async function localAddressTowards(destination: Ipv4): Promise<Ipv4 | null> {
  const socket = createSocket('udp4');
  try {
    socket.connect(ANY_PORT, destination);
    await once(socket, 'connect');
    const local = parseIpv4(socket.address().address);
    return local.ok ? local.value : null;
  } catch {
    return null;
  } finally {
    socket.close();
  }
}
