// A UDP socket that is connected to one BMC: the kernel drops what comes from elsewhere, and tells when nobody listens.

import { createSocket } from 'node:dgram';

export interface IpmiLink {
  send(bytes: Uint8Array): void;
  /** What was sent before still leaves; nothing is received any more that matters. */
  close(): void;
}

export interface LinkEvents {
  readonly packet: (bytes: Uint8Array) => void;
  /** A hint, not an end: ICMP can be late, or forged. */
  readonly trouble: (error: Error) => void;
}

/** Rejects when there is no way to this address at all. */
export type OpenLink = (address: string, port: number, events: LinkEvents) => Promise<IpmiLink>;

export const openUdpLink: OpenLink = (address, port, events) =>
  new Promise((resolve, reject) => {
    const socket = createSocket('udp4');
    let closing = false;
    let leaving = 0;
    const closeWhenQuiet = (): void => {
      if (closing && leaving === 0) socket.close();
    };
    const refuse = (error: Error): void => {
      socket.close();
      reject(error);
    };
    socket.once('error', refuse);
    socket.once('connect', () => {
      socket.off('error', refuse);
      socket.on('error', (error) => events.trouble(error));
      socket.on('message', (bytes) => events.packet(bytes));
      resolve({
        send: (bytes) => {
          if (closing) return;
          leaving += 1;
          // The callback takes what would otherwise be thrown: a route that is gone, a full buffer.
          socket.send(bytes, (error) => {
            leaving -= 1;
            if (error) events.trouble(error);
            closeWhenQuiet();
          });
        },
        close: () => {
          if (closing) return;
          closing = true;
          // The last packet is often the one that frees the BMC's slot: it leaves first.
          closeWhenQuiet();
        },
      });
    });
    socket.connect(port, address);
  });
