// Transfers in the server's own thread: used in single-port mode, with a configured port range, and with an unsupported C
// library.

import type { Endpoint } from '../../net/udp/endpoint.ts';
import type { BurstSocket } from '../../net/udp/udp-socket.ts';
import { openContent } from './file-bytes.ts';
import type { TftpSettings } from './tftp-settings.ts';
import { type TransferClock, TransferPort } from './transfer-port.ts';
import { openTransferSocket } from './transfer-socket.ts';
import type { RunningTransfer, TransferEvents, TransferOrder, Transfers } from './transfers.ts';

export class LocalTransfers implements Transfers {
  readonly #port: TransferPort;
  readonly #socket: BurstSocket;
  readonly #ownsSocket: boolean;

  private constructor(port: TransferPort, socket: BurstSocket, ownsSocket: boolean) {
    this.#port = port;
    this.#socket = socket;
    this.#ownsSocket = ownsSocket;
  }

  /** Transfers use a port of their own. */
  static async open(address: string, settings: TftpSettings, clock: TransferClock): Promise<LocalTransfers> {
    const port = new TransferPort({ ...settings, clock });
    const socket = await openTransferSocket(address, settings.transferPorts, (bytes, from) =>
      port.onPacket(bytes, from, socket),
    );
    return new LocalTransfers(port, socket, true);
  }

  /** Transfers send and receive on the request port. */
  static on(requests: BurstSocket, settings: TftpSettings, clock: TransferClock): LocalTransfers {
    return new LocalTransfers(new TransferPort({ ...settings, clock }), requests, false);
  }

  hasJustEnded(client: Endpoint): boolean {
    return this.#port.hasJustEnded(client);
  }

  async begin(order: TransferOrder, events: TransferEvents): Promise<RunningTransfer> {
    const source = await openContent(order.content);
    const session = this.#port.begin(order, source, this.#socket, events);
    return {
      onRequestPort: (bytes, isOver) => {
        // A client that ends one transfer and begins the next from the same port sends its last packet first, to our port.
        if (this.#ownsSocket) this.#socket.receive();
        session.onPacket(bytes);
        if (session.finished) isOver();
      },
      silentFor: () => session.silentFor(),
      isAnswered: () => session.isAnswered(),
      abandon: (reason) => session.abandon(reason),
      drop: (reason) => session.drop(reason),
    };
  }

  async stop(reason: string): Promise<void> {
    this.#port.stop(reason);
    if (this.#ownsSocket) this.#socket.close();
  }
}
