import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { BatchedSocket, batchCalls } from './batched-socket.ts';
import { closeDescriptor, forbidSharing, openBoundDescriptor } from './bound-descriptor.ts';
import { ByteSlab } from './byte-slab.ts';
import { type Endpoint, peerAt } from './endpoint.ts';
import { LastPeer } from './last-peer.ts';
import type { OpenUdp } from './udp-socket.ts';

export const openDeviceSocket: OpenUdp = async ({ interface: device, port, shared = false, onMessage, onError }) => {
  const fd = openBoundDescriptor(device, port, shared);
  const socket = createSocket({
    type: 'udp4',
    // Peers are always numeric: the resolver would cost each datagram a turn of the event loop.
    lookup: (address, _options, found) => found(null, address, 4),
  });
  try {
    const listening = once(socket, 'listening');
    socket.bind({ fd });
    await listening;
    if (!shared) forbidSharing(fd);
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
  let closed = false;
  const close = async (end: () => void): Promise<void> => {
    if (closed) return;
    closed = true;
    const ended = once(socket, 'close');
    end();
    await ended;
  };
  socket.on('error', onError);

  const calls = batchCalls();
  if (calls === null) {
    socket.on('message', (bytes, from) => onMessage(bytes, { address: from.address as Ipv4, port: from.port }));
    const sent = (error: Error | null): void => {
      if (error !== null && !closed) onError(error);
    };
    return {
      send: (bytes, to) => {
        // RFC 768: source port 0 means that no reply is expected; Node throws.
        if (!closed && to.port !== 0) socket.send(bytes, to.port, to.address, sent);
      },
      close: () => close(() => socket.close()),
    };
  }
  const copies = new ByteSlab();
  const peers = new LastPeer();
  // Copied: the fields of a request are used until its reply is on disk, and the batch is refilled long before that.
  const receive = (bytes: Uint8Array, from: Endpoint): void => onMessage(copies.copy(bytes), peers.at(from));
  const onLost = (code: string, to: Endpoint): void => {
    const { address, port: at } = peerAt(to);
    if (!closed) onError(new Error(`${code} (to ${address}:${at})`));
  };
  const batched = new BatchedSocket(fd, socket, calls, receive, { joins: false, onLost });
  return {
    send: (bytes, to) => batched.send(bytes, peers.endpointOf(to)),
    close: () => close(() => batched.close()),
  };
};
