// What the servers need of UDP. The real one is bound to a device; tests bring one in memory.

import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Endpoint } from './endpoint.ts';
import type { Part } from './held-bytes.ts';

export interface UdpPeer {
  readonly address: Ipv4;
  readonly port: number;
}

export interface UdpSocket {
  /** Never throws and never waits: a datagram that cannot leave is reported to `onError`. */
  send(bytes: Uint8Array, to: UdpPeer): void;
  close(): Promise<void>;
}

export interface UdpOptions {
  /** Only what comes in here is received, and everything sent leaves here. */
  readonly interface: string;
  /** 0: any free one. */
  readonly port: number;
  /** Beside other programs of this machine that listen there too: for what is broadcast to all of them. */
  readonly shared?: boolean;
  readonly onMessage: (bytes: Uint8Array, from: UdpPeer) => void;
  readonly onError: (error: Error) => void;
}

/** `service_unavailable` names the interface, the port and what is in the way. */
export type OpenUdp = (options: UdpOptions) => Promise<UdpSocket>;

/** The bytes are valid during the call only: the next burst is written over them. */
export type OnDatagram = (bytes: Uint8Array, from: Endpoint) => void;

/** Why a datagram did not leave (EHOSTUNREACH, EMSGSIZE …), and whom it was for. */
export type OnLost = (code: string, to: Endpoint) => void;

/** For many small exchanges at once: what is sent in one turn leaves together. */
export interface BurstSocket {
  readonly address: Ipv4;
  readonly port: number;
  /** Never throws and never waits. The bytes may be reused at once. A datagram that cannot leave is lost. */
  send(bytes: Uint8Array, to: Endpoint): void;
  /** The same without a copy. */
  sendPart(part: Part, to: Endpoint): void;
  /** Handles now what has arrived and would be handled later in this turn. */
  receive(): void;
  /** What was sent before leaves first. */
  close(): void;
}
