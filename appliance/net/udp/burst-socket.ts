import { type BindOptions, createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { type Ipv4, parseIpv4 } from '../../domain/ipv4.ts';
import { type BatchCalls, BatchedSocket, batchCalls } from './batched-socket.ts';
import { closeDescriptor, forbidSharing, openDescriptorAt } from './bound-descriptor.ts';
import { PlainSocket } from './plain-socket.ts';
import type { BurstSocket, OnDatagram } from './udp-socket.ts';

export interface BurstSocketOptions {
  /** null: use Node's own socket. */
  readonly calls?: BatchCalls | null;
  /** For a dedicated thread. */
  readonly lingers?: boolean;
}

/** Rejects as Node does: with an error whose `code` is EADDRINUSE and so on. */
export async function openBurstSocket(
  address: string,
  port: number,
  onDatagram: OnDatagram,
  { calls = batchCalls(), lingers = false }: BurstSocketOptions = {},
): Promise<BurstSocket> {
  const here = parseIpv4(address);
  if (!here.ok) throw new Error(here.reason);
  return calls
    ? openBatched(here.value, port, onDatagram, calls, lingers)
    : new PlainSocket(await bound({ address: here.value, port }), onDatagram);
}

async function openBatched(
  address: Ipv4,
  port: number,
  onDatagram: OnDatagram,
  calls: BatchCalls,
  lingers: boolean,
): Promise<BurstSocket> {
  const fd = openDescriptorAt(address, port);
  try {
    const socket = await bound({ fd });
    forbidSharing(fd);
    return new BatchedSocket(fd, socket, calls, onDatagram, { lingers });
  } catch (error) {
    closeDescriptor(fd);
    throw error;
  }
}

async function bound(where: BindOptions): Promise<Socket> {
  const socket = createSocket({
    type: 'udp4',
    // Peers are always numeric: Node's own lookup would delay every datagram to a later turn.
    lookup: (host, _options, found) => found(null, host, 4),
  });
  const listening = once(socket, 'listening');
  try {
    socket.bind(where);
    await listening;
  } catch (error) {
    socket.close();
    throw error;
  }
  // Errors of a bound socket concern single datagrams, which are lost like any others.
  socket.on('error', () => undefined);
  return socket;
}
