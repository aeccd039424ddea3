// UDP in memory: records opened sockets and sent packets, and delivers packets.

import { decodeDhcp } from '../../../appliance/codecs/dhcp4/decode.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { messageType } from '../../../appliance/codecs/dhcp4/options.ts';
import type { OpenUdp, UdpOptions, UdpPeer } from '../../../appliance/net/udp/udp-socket.ts';

export interface Sent {
  readonly interface: string;
  readonly port: number;
  readonly to: UdpPeer;
  readonly bytes: Uint8Array;
}

export class MemoryUdp {
  readonly sent: Sent[] = [];
  /** Sending fails with this error. */
  down: Error | null = null;
  readonly #open = new Map<string, UdpOptions>();
  readonly #refused = new Map<string, Error>();
  readonly #waiting = new Set<() => void>();

  readonly open: OpenUdp = async (options) => {
    const key = `${options.interface}:${options.port}`;
    const refusal = this.#refused.get(key);
    if (refusal) throw refusal;
    this.#open.set(key, options);
    return {
      send: (bytes, to) => {
        if (!this.#open.has(key)) return;
        if (this.down !== null) return options.onError(this.down);
        this.sent.push({ interface: options.interface, port: options.port, to, bytes });
        for (const wake of this.#waiting) wake();
      },
      close: async () => void this.#open.delete(key),
    };
  };

  get opened(): string[] {
    return [...this.#open.keys()].sort();
  }

  refuse(at: string, error: Error): void {
    this.#refused.set(at, error);
  }

  permit(at: string): void {
    this.#refused.delete(at);
  }

  deliver(at: string, bytes: Uint8Array, from: UdpPeer): void {
    this.#open.get(at)?.onMessage(bytes, from);
  }

  /** Resolves when this many datagrams have been sent in total. */
  async until(count: number): Promise<void> {
    while (this.sent.length < count) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  /** The sent DHCP messages, in words: `offer 10.0.0.1 to 255.255.255.255:68 by eth1:67`. */
  get sentInWords(): string[] {
    return this.replies.map(
      ({ message, sent: { to, interface: device, port } }) =>
        `${messageType(message)} ${message.yiaddr} to ${to.address}:${to.port} by ${device}:${port}`,
    );
  }

  get replies(): { message: DhcpMessage; sent: Sent }[] {
    return this.sent.filter(({ bytes }) => bytes.length > 0).map((sent) => ({ message: decodeDhcp(sent.bytes), sent }));
  }
}
