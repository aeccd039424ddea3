// The socket of transfers: not the request port, so that a client learns the server's TID from the first reply (RFC 1350 §4).
// All transfers of an address share one socket and are distinguished by their clients' TIDs: packets are received and
// answered in batches.

import { ColdironError } from '../../domain/errors.ts';
import { openBurstSocket } from '../../net/udp/burst-socket.ts';
import type { BurstSocket, OnDatagram } from '../../net/udp/udp-socket.ts';

export interface PortRange {
  readonly from: number;
  readonly to: number;
}

/** On any free port, or on the first free one of the range. */
export async function openTransferSocket(
  address: string,
  range: PortRange | null,
  onDatagram: OnDatagram,
): Promise<BurstSocket> {
  if (range === null) return openBurstSocket(address, 0, onDatagram);
  const { from, to } = range;
  for (let port = from; port <= to; port += 1) {
    try {
      return await openBurstSocket(address, port, onDatagram);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
    }
  }
  const ports = to - from + 1;
  throw new ColdironError(
    'service_unavailable',
    `no port for transfers: all ${ports} from ${from} to ${to} of ${address} are in use`,
  );
}
