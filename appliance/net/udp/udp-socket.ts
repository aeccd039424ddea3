// The UDP interfaces that the servers use. The real socket is bound to a device; tests use one in memory.

import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Endpoint } from './endpoint.ts';
import type { Part } from './held-bytes.ts';

export interface UdpPeer {
  readonly address: Ipv4;
  readonly port: number;
}

export interface UdpSocket {
  /** Never throws and never blocks: a datagram that cannot be sent is reported to `onError`. */
  send(bytes: Uint8Array, to: UdpPeer): void;
  close(): Promise<void>;
}

export interface UdpOptions {
  /** Receives and sends on this interface only. */
  readonly interface: string;
  /** 0: any free port. */
  readonly port: number;
  /** Shares the port with other programs of this machine, to receive broadcasts beside them. */
  readonly shared?: boolean;
  readonly onMessage: (bytes: Uint8Array, from: UdpPeer) => void;
  readonly onError: (error: Error) => void;
}

/** Rejects with `service_unavailable`, which names the interface, the port and the cause. */
export type OpenUdp = (options: UdpOptions) => Promise<UdpSocket>;

/** The bytes are valid during the call only: the next burst overwrites them. */
export type OnDatagram = (bytes: Uint8Array, from: Endpoint) => void;

/** Why a datagram was not sent (EHOSTUNREACH, EMSGSIZE …), and its destination. */
export type OnLost = (code: string, to: Endpoint) => void;

/** For many small exchanges at once: the datagrams of one turn are sent together. */
export interface BurstSocket {
  readonly address: Ipv4;
  readonly port: number;
  /** Never throws and never blocks. The bytes may be reused at once. A datagram that cannot be sent is lost. */
  send(bytes: Uint8Array, to: Endpoint): void;
  /** The same without a copy. */
  sendPart(part: Part, to: Endpoint): void;
  /** Handles at once what has arrived and would be handled later in this turn. */
  receive(): void;
  /** Sends what is queued first. */
  close(): void;
}
