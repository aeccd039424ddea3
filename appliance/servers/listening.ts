// Keeps the DHCP and TFTP listeners in sync with the inventory and with the network interfaces, and reports their state.

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

/** Retry interval for a network that could not be served, for example because another DHCP server answers on it. */
const RETRY_EVERY = 30 * SECOND;
/** Interface poll interval: a new or recreated interface, or a new address on it, triggers a retry at once. */
const POLL_INTERFACES_EVERY = SECOND;

const RECONCILING_FAILED = 'the DHCP and TFTP listeners could not be reconciled with the inventory; retrying';

export class Listening {
  readonly #deps: ListeningDeps;

  constructor(deps: ListeningDeps) {
    this.#deps = deps;
  }

  /** Opens missing listeners and closes those that the inventory no longer names. */
  readonly reconcile = async (): Promise<void> => {
    const { tftp, dhcp, bootChain, interfaces } = this.#deps;
    // Resets the change flag first: a later change is found by the next poll.
    interfaces.hasChanged();
    await tftp.reconcile();
    await dhcp.reconcile();
    await bootChain.followUp();
  };

  /** The inventory has changed. */
  readonly onChange = (): void => {
    this.reconcile().catch((error: unknown) => this.#deps.log.error({ err: error }, RECONCILING_FAILED));
  };

  /** Starts periodic reconciling; returns stop(). */
  follow(): () => Promise<void> {
    const { interfaces, log } = this.#deps;
    const poll = async (): Promise<void> => {
      if (interfaces.hasChanged()) await this.reconcile();
    };
    const stops = [repeat(RETRY_EVERY, this.reconcile, log), repeat(POLL_INTERFACES_EVERY, poll, log)];
    return async () => {
      for (const stop of stops) await stop();
    };
  }

  /** Every listener that should be open, with the problem if it is not. */
  readonly states = (): Listener[] => {
    const { dhcp, tftp } = this.#deps;
    const ofDhcp = dhcp.states().map(({ interface: where, networks, refusedBecause: problem }) => {
      return { service: 'dhcp' as const, where, networks, problem };
    });
    const ofTftp = tftp.states().map(({ where, refusedBecause: problem }) => {
      return { service: 'tftp' as const, where, networks: [], problem };
    });
    return [...ofDhcp, ...ofTftp];
  };

  /** For the start-up output. */
  places(): { readonly what: string; readonly where: string }[] {
    const { dhcp, tftp } = this.#deps;
    const ofTftp = tftp.places().map(({ address, port }) => ({ what: 'tftp', where: `${address}:${port}` }));
    const ofDhcp = dhcp.states().map(({ interface: device, networks, refusedBecause }) => {
      const problem = refusedBecause === null ? '' : `: not answering: ${refusedBecause}`;
      return { what: 'dhcp', where: `${device} (${networks.join(', ')})${problem}` };
    });
    return [...ofTftp, ...ofDhcp];
  }
}
