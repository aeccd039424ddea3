// The client end of a link in a network namespace, controlled by the test: packets are sent unchanged, and each is
// retransmitted until it is answered.

import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import type { RackNetwork } from '../../../appliance/lab/rack/network.ts';
import { openDeviceSocket } from '../../../appliance/net/udp/device-socket.ts';
import type { UdpPeer, UdpSocket } from '../../../appliance/net/udp/udp-socket.ts';
import type { Namespaces } from '../../interop/namespaces.ts';
import { enterNetwork } from '../../lab/rack/enter-network.ts';
import { optionOf, type RawPacket, readRaw } from './raw-packet.ts';

export interface Answer {
  readonly bytes: Uint8Array;
  readonly packet: RawPacket;
  readonly from: UdpPeer;
}

const BROADCAST: UdpPeer = { address: '255.255.255.255' as Ipv4, port: 67 };
const RETRANSMIT_MS = 1000;
const REPLY = 2;
/** RFC 2132 §9.6: an OFFER answers a DISCOVER, an ACK or a NAK a REQUEST. */
const ANSWERS: Readonly<Record<number, readonly number[]>> = { 1: [2], 3: [5, 6] };

const typeOf = (packet: RawPacket): number => optionOf(packet, 53)?.[0] ?? 0;
const keyOf = ({ xid, mac }: RawPacket): string => `${xid} ${mac}`;

interface Waiting {
  readonly types: readonly number[];
  readonly answer: (answer: Answer) => void;
}

export class Wire {
  /** Every reply, also unexpected ones. */
  readonly heard: Answer[] = [];
  readonly #waiting = new Map<string, Waiting>();
  #socket: UdpSocket | null = null;

  static async open(namespaces: Namespaces, namespace: string, device: string, port = 68): Promise<Wire> {
    const { output } = await namespaces.run(namespace, 'ip', 'netns', 'identify');
    const wire = new Wire();
    const leave = enterNetwork({ name: output.trim() } as RackNetwork);
    try {
      wire.#socket = await openDeviceSocket({
        interface: device,
        port,
        onMessage: (bytes, from) => wire.#receive(bytes, from),
        onError: (error) => {
          throw error;
        },
      });
    } finally {
      leave();
    }
    return wire;
  }

  /** Sends once, without waiting for a reply. */
  tell(bytes: Uint8Array, to: UdpPeer = BROADCAST): void {
    this.#socket?.send(bytes, to);
  }

  async ask(bytes: Uint8Array, to: UdpPeer = BROADCAST): Promise<Answer> {
    const request = readRaw(bytes);
    const answered = new Promise<Answer>((answer) =>
      this.#waiting.set(keyOf(request), { types: ANSWERS[typeOf(request)] ?? [], answer }),
    );
    const again = setInterval(() => this.tell(bytes, to), RETRANSMIT_MS).unref();
    this.tell(bytes, to);
    return await answered.finally(() => clearInterval(again));
  }

  async close(): Promise<void> {
    await this.#socket?.close();
  }

  #receive(bytes: Uint8Array, from: UdpPeer): void {
    // Other clients' requests are broadcast too.
    if (bytes[0] !== REPLY) return;
    const answer = { bytes, packet: readRaw(bytes), from };
    this.heard.push(answer);
    const waiting = this.#waiting.get(keyOf(answer.packet));
    if (!waiting?.types.includes(typeOf(answer.packet))) return;
    this.#waiting.delete(keyOf(answer.packet));
    waiting.answer(answer);
  }
}
