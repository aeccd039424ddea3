// A UDP socket connected to one BMC: the kernel drops packets from other addresses, and reports ICMP errors.

import { createSocket } from 'node:dgram';

export interface IpmiLink {
  send(bytes: Uint8Array): void;
  /** Queued packets are still sent; no more packets are delivered. */
  close(): void;
}

export interface LinkEvents {
  readonly packet: (bytes: Uint8Array) => void;
  /** A hint, not the end of the session: ICMP messages can be late or forged. */
  readonly networkError: (error: Error) => void;
}

/** Rejects when there is no route to the address. */
export type OpenLink = (address: string, port: number, events: LinkEvents) => Promise<IpmiLink>;

export const openUdpLink: OpenLink = (address, port, events) =>
  new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    let closing = false;
    let sending = 0;
    const closeWhenSent = (): void => {
      if (closing && sending === 0) socket.close();
    };
    const fail = (error: Error): void => {
      socket.close();
      reject(error);
    };
    socket.once('error', fail);
    socket.once('connect', () => {
      socket.off('error', fail);
      socket.on('error', (error) => events.networkError(error));
      socket.on('message', (bytes) => events.packet(bytes));
      resolve({
        send: (bytes) => {
          if (closing) return;
          sending += 1;
          // Without the callback, send throws: a missing route, a full buffer.
          socket.send(bytes, (error) => {
            sending -= 1;
            if (error) events.networkError(error);
            closeWhenSent();
          });
        },
        close: () => {
          if (closing) return;
          closing = true;
          // The last packet is often the one that frees the BMC's session slot: it is sent before the socket closes.
          closeWhenSent();
        },
      });
    });
    socket.connect(port, address);
  });
