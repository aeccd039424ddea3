// A DHCPv4 message as values (RFC 2131 §2). Options keep their raw bytes under their code, already concatenated
// (RFC 3396) and with overloaded fields merged (RFC 2132 §9.3); the wire form is the codec's business.

import type { Ipv4 } from '../../domain/ipv4.ts';

export interface DhcpMessage {
  readonly op: 'request' | 'reply';
  readonly htype: number;
  readonly hlen: number;
  readonly hops: number;
  readonly xid: number;
  readonly secs: number;
  readonly broadcast: boolean;
  /** The client's own address, when it has one and answers ARP for it. */
  readonly ciaddr: Ipv4;
  /** "Your" address: what the server gives. */
  readonly yiaddr: Ipv4;
  /** The next server in the boot. */
  readonly siaddr: Ipv4;
  /** The relay agent. */
  readonly giaddr: Ipv4;
  /** All sixteen bytes; `hlen` says how many count. */
  readonly chaddr: Uint8Array;
  readonly sname: string;
  readonly file: string;
  readonly options: ReadonlyMap<number, Uint8Array>;
  /** What the decoder passed over, in words for the log; absent when nothing was. It has no wire form. */
  readonly oddities?: readonly string[];
}
