// The destination of a reply: RFC 2131 §4.1. Without raw sockets a client without an address cannot be reached by unicast, so
// we broadcast, which the RFC allows; OVMF and iPXE accept it with the broadcast flag clear, too.

import type { DhcpMessage } from '../codecs/dhcp4/message.ts';
import { type Ipv4, ipv4FromNumber } from '../domain/ipv4.ts';

export interface Endpoint {
  readonly address: Ipv4;
  readonly port: number;
}

export const SERVER_PORT = 67;
export const CLIENT_PORT = 68;
/** PXE 2.1 §2.2.3: the port of boot servers. */
export const BOOT_SERVER_PORT = 4011;

const BROADCAST = ipv4FromNumber(0xffffffff);
const UNSET = ipv4FromNumber(0);

export type ReplyKind = 'offer' | 'ack' | 'nak' | 'inform' | 'boot-server';

export function replyAddress(
  request: Pick<DhcpMessage, 'ciaddr' | 'giaddr'>,
  kind: ReplyKind,
  source: Endpoint,
): Endpoint {
  // iPXE drops a boot server's reply that does not go to the source port of its request.
  if (kind === 'boot-server') return source;
  // RFC 2131 §4.3.5: a client that sends INFORM has an address.
  if (kind === 'inform' && request.ciaddr !== UNSET) return { address: request.ciaddr, port: CLIENT_PORT };
  if (request.giaddr !== UNSET) return { address: request.giaddr, port: SERVER_PORT };
  if (kind === 'inform') return source;
  if (kind !== 'nak' && request.ciaddr !== UNSET) return { address: request.ciaddr, port: CLIENT_PORT };
  return { address: BROADCAST, port: CLIENT_PORT };
}
