// Opens the TFTP listeners: on the appliance's address in every network that it serves DHCP on, or on the one address that the
// site file names. Follows changes of the networks.

import type { FastifyBaseLogger } from 'fastify';
import type { Fleet } from '../../inventory/fleet.ts';
import type { Trail } from '../../trail/trail.ts';
import type { TftpResolver } from './tftp-resolver.ts';
import { TftpServer, type TftpServerDeps } from './tftp-server.ts';
import { TFTP_DEFAULTS, type TftpSettings } from './tftp-settings.ts';
import { TransferLimit } from './transfer-book.ts';

interface ListenAddress {
  readonly address: string;
  readonly port: number;
}

interface TftpListenersDeps {
  readonly fleet: Pick<Fleet, 'networks'>;
  /** `networks`: on every network with DHCP. null: TFTP is off. */
  readonly listen: ListenAddress | 'networks' | null;
  /** From the site file; defaults apply to the rest. `port`: for listeners of networks. */
  readonly settings: Partial<Omit<TftpSettings, 'addresses'>>;
  readonly resolver: Pick<TftpResolver, 'answer'>;
  readonly trail: Trail;
  readonly whoIs: NonNullable<TftpServerDeps['whoIs']>;
  readonly log: FastifyBaseLogger;
}

export class TftpListeners {
  readonly #deps: TftpListenersDeps;
  readonly #settings: Omit<TftpSettings, 'addresses'>;
  readonly #limit: TransferLimit;
  readonly #servers = new Map<string, { readonly server: TftpServer; readonly place: ListenAddress }>();
  readonly #failed = new Map<string, string>();
  #reconciling: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: TftpListenersDeps) {
    this.#deps = deps;
    this.#settings = { ...TFTP_DEFAULTS, ...deps.settings };
    this.#limit = new TransferLimit(this.#settings.atOnce);
  }

  /** Opens missing listeners and closes obsolete ones. An address that cannot be bound is retried next time. */
  reconcile(): Promise<void> {
    const work = this.#reconciling.then(() => this.#reconcile());
    // A failure does not block the next attempt.
    this.#reconciling = work.catch(() => undefined);
    return work;
  }

  /** Every address it should listen on, and the reason where it does not. */
  states(): { readonly where: string; readonly refusedBecause: string | null }[] {
    return [...this.#desired().keys()].map((where) => ({
      where,
      refusedBecause: this.#servers.has(where) ? null : (this.#failed.get(where) ?? 'the socket is not open yet'),
    }));
  }

  health(): 'running' | 'off' | 'failed' {
    if (this.#failed.size > 0) return 'failed';
    return this.#servers.size > 0 ? 'running' : 'off';
  }

  /** The addresses it listens on now. */
  places(): ListenAddress[] {
    return [...this.#servers.values()].map(({ place }) => place);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#reconciling;
    for (const { server } of this.#servers.values()) await server.stop();
    this.#servers.clear();
  }

  async #reconcile(): Promise<void> {
    if (this.#stopped) return;
    const desired = this.#desired();
    for (const [where, { server }] of [...this.#servers]) {
      if (desired.has(where)) continue;
      this.#servers.delete(where);
      await server.stop();
    }
    this.#failed.clear();
    for (const [where, { address, port }] of desired) {
      if (!this.#servers.has(where)) await this.#open(where, address, port);
    }
  }

  async #open(where: string, address: string, port: number): Promise<void> {
    const { resolver, trail, whoIs, log } = this.#deps;
    const settings = { ...this.#settings, addresses: [address], port };
    const server = new TftpServer({ settings, limit: this.#limit, resolver, trail, whoIs, log });
    try {
      const [bound] = await server.start();
      if (bound) this.#servers.set(where, { server, place: { address: bound.address, port: bound.port } });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#failed.set(where, reason);
      log.error({ address: where, reason }, 'tftp: cannot listen');
    }
  }

  #desired(): Map<string, ListenAddress> {
    const { listen, fleet } = this.#deps;
    const places = listen === 'networks' ? served(fleet, this.#settings.port) : listen === null ? [] : [listen];
    return new Map(places.map((place) => [`${place.address}:${place.port}`, place]));
  }
}

function served(fleet: Pick<Fleet, 'networks'>, port: number): ListenAddress[] {
  return [...fleet.networks()].flatMap(({ dhcp, interface: device, server }) =>
    dhcp === 'off' || device === null || server === null ? [] : [{ address: server, port }],
  );
}
