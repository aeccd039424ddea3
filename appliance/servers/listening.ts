// DHCP and TFTP, kept in step with the inventory and with the interfaces of this machine, and what is to be said about them.

import type { FastifyBaseLogger } from 'fastify';
import { SECOND } from '../domain/instant.ts';
import type { Listener } from '../domain/listener.ts';
import type { InterfaceWatch } from '../net/interface-watch.ts';
import { repeat } from '../net/repeat.ts';
import type { BootChain } from './boot-chain/boot-chain.ts';
import type { DhcpServer } from './dhcp/dhcp-server.ts';
import type { TftpListeners } from './tftp/tftp-listeners.ts';

interface ListeningDeps {
  readonly dhcp: Pick<DhcpServer, 'states' | 'reconcile'>;
  readonly tftp: Pick<TftpListeners, 'states' | 'places' | 'reconcile'>;
  readonly bootChain: Pick<BootChain, 'followUp'>;
  readonly interfaces: Pick<InterfaceWatch, 'hasChanged'>;
  readonly log: FastifyBaseLogger;
}

/** A network that another DHCP server holds, or that cannot be served for whatever reason, is tried again this often. */
const RETRY_EVERY = 30 * SECOND;
/** And at once when its interface is there, or made anew, or has its address. */
const LOOK_AT_INTERFACES_EVERY = SECOND;

const RECONCILING_FAILED = 'what is listened on could not be brought in step with the inventory; it is tried again';

export class Listening {
  readonly #parts: ListeningDeps;

  constructor(parts: ListeningDeps) {
    this.#parts = parts;
  }

  /** Opens what is missing and closes what is no longer wanted. */
  readonly reconcile = async (): Promise<void> => {
    const { tftp, dhcp, bootChain, interfaces } = this.#parts;
    // What changes after this look is seen by the next.
    interfaces.hasChanged();
    await tftp.reconcile();
    await dhcp.reconcile();
    await bootChain.followUp();
  };

  /** The inventory is another. */
  readonly onChange = (): void => {
    this.reconcile().catch((error: unknown) => this.#parts.log.error({ err: error }, RECONCILING_FAILED));
  };

  /** Goes on with it. Returns what ends it. */
  follow(): () => Promise<void> {
    const { interfaces, log } = this.#parts;
    const look = async (): Promise<void> => {
      if (interfaces.hasChanged()) await this.reconcile();
    };
    const ends = [repeat(RETRY_EVERY, this.reconcile, log), repeat(LOOK_AT_INTERFACES_EVERY, look, log)];
    return async () => {
      for (const end of ends) await end();
    };
  }

  /** All that should be open, and why it is not where it is not. */
  readonly states = (): Listener[] => {
    const { dhcp, tftp } = this.#parts;
    const ofDhcp = dhcp.states().map(({ interface: where, networks, refusedBecause: problem }) => {
      return { service: 'dhcp' as const, where, networks, problem };
    });
    const ofTftp = tftp.states().map(({ where, refusedBecause: problem }) => {
      return { service: 'tftp' as const, where, networks: [], problem };
    });
    return [...ofDhcp, ...ofTftp];
  };

  /** For whoever started the appliance. */
  places(): { readonly what: string; readonly where: string }[] {
    const { dhcp, tftp } = this.#parts;
    const ofTftp = tftp.places().map(({ address, port }) => ({ what: 'tftp', where: `${address}:${port}` }));
    const ofDhcp = dhcp.states().map(({ interface: device, networks, refusedBecause }) => {
      const silence = refusedBecause === null ? '' : `: not answering: ${refusedBecause}`;
      return { what: 'dhcp', where: `${device} (${networks.join(', ')})${silence}` };
    });
    return [...ofTftp, ...ofDhcp];
  }
}
