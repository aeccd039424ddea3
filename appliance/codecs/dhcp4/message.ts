// A DHCPv4 message as values (RFC 2131 §2). Options keep their raw bytes under their code, already concatenated
// (RFC 3396) and merged from overloaded fields (RFC 2132 §9.3); only the codec knows the wire format.

import type { Ipv4 } from '../../domain/ipv4.ts';

export interface DhcpMessage {
  readonly op: 'request' | 'reply';
  readonly htype: number;
  readonly hlen: number;
  readonly hops: number;
  readonly xid: number;
  readonly secs: number;
  readonly broadcast: boolean;
  /** The client's own address, if it has one and answers ARP for it. */
  readonly ciaddr: Ipv4;
  /** "Your" address: the one that the server assigns. */
  readonly yiaddr: Ipv4;
  /** The next server in the boot. */
  readonly siaddr: Ipv4;
  /** The relay agent. */
  readonly giaddr: Ipv4;
  /** All sixteen bytes; `hlen` is the number of significant ones. */
  readonly chaddr: Uint8Array;
  readonly sname: string;
  readonly file: string;
  readonly options: ReadonlyMap<number, Uint8Array>;
  /** What the decoder ignored, as text for the log; absent if nothing. Not encoded. */
  readonly oddities?: readonly string[];
}
