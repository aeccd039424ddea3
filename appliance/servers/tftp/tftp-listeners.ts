// TFTP listens where the networks say: on the appliance's own address of every network that it serves DHCP on, or on the one
// address that the site file names. When the networks change, so do the listeners.

import type { FastifyBaseLogger } from 'fastify';
import type { Fleet } from '../../inventory/fleet.ts';
import type { Trail } from '../../trail/trail.ts';
import type { TftpResolver } from './tftp-resolver.ts';
import { TftpServer, type TftpServerDeps } from './tftp-server.ts';
import { TFTP_DEFAULTS, type TftpSettings } from './tftp-settings.ts';
import { TransferRoom } from './transfer-book.ts';

interface Place {
  readonly address: string;
  readonly port: number;
}

interface TftpListenersDeps {
  readonly fleet: Pick<Fleet, 'networks'>;
  /** `networks`: where DHCP is served. null: nowhere. */
  readonly listen: Place | 'networks' | null;
  /** What the site file says; the rest is as usual. `port`: where networks are served. */
  readonly settings: Partial<Omit<TftpSettings, 'addresses'>>;
  readonly resolver: Pick<TftpResolver, 'answer'>;
  readonly trail: Trail;
  readonly whoIs: NonNullable<TftpServerDeps['whoIs']>;
  readonly log: FastifyBaseLogger;
}

export class TftpListeners {
  readonly #parts: TftpListenersDeps;
  readonly #settings: Omit<TftpSettings, 'addresses'>;
  readonly #room: TransferRoom;
  readonly #servers = new Map<string, { readonly server: TftpServer; readonly place: Place }>();
  readonly #failed = new Map<string, string>();
  #turn: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(parts: TftpListenersDeps) {
    this.#parts = parts;
    this.#settings = { ...TFTP_DEFAULTS, ...parts.settings };
    this.#room = new TransferRoom(this.#settings.atOnce);
  }

  /** Opens what is missing and closes what is no longer wanted. An address that cannot be had is tried again next time. */
  reconcile(): Promise<void> {
    const work = this.#turn.then(() => this.#reconcile());
    // Whatever went wrong, the next one is another try.
    this.#turn = work.catch(() => undefined);
    return work;
  }

  /** Every address that it is to listen at, and why it does not where it does not. */
  states(): { readonly where: string; readonly refusedBecause: string | null }[] {
    return [...this.#wanted().keys()].map((where) => ({
      where,
      refusedBecause: this.#servers.has(where) ? null : (this.#failed.get(where) ?? 'it is not open yet'),
    }));
  }

  health(): 'running' | 'off' | 'failed' {
    if (this.#failed.size > 0) return 'failed';
    return this.#servers.size > 0 ? 'running' : 'off';
  }

  /** Where it listens now. */
  places(): Place[] {
    return [...this.#servers.values()].map(({ place }) => place);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#turn;
    for (const { server } of this.#servers.values()) await server.stop();
    this.#servers.clear();
  }

  async #reconcile(): Promise<void> {
    if (this.#stopped) return;
    const wanted = this.#wanted();
    for (const [where, { server }] of [...this.#servers]) {
      if (wanted.has(where)) continue;
      this.#servers.delete(where);
      await server.stop();
    }
    this.#failed.clear();
    for (const [where, { address, port }] of wanted) {
      if (!this.#servers.has(where)) await this.#open(where, address, port);
    }
  }

  async #open(where: string, address: string, port: number): Promise<void> {
    const { resolver, trail, whoIs, log } = this.#parts;
    const settings = { ...this.#settings, addresses: [address], port };
    const server = new TftpServer({ settings, room: this.#room, resolver, trail, whoIs, log });
    try {
      const [bound] = await server.start();
      if (bound) this.#servers.set(where, { server, place: { address: bound.address, port: bound.port } });
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#failed.set(where, reason);
      log.error({ address: where, reason }, 'tftp: does not listen');
    }
  }

  #wanted(): Map<string, Place> {
    const { listen, fleet } = this.#parts;
    const places = listen === 'networks' ? served(fleet, this.#settings.port) : listen === null ? [] : [listen];
    return new Map(places.map((place) => [`${place.address}:${place.port}`, place]));
  }
}

function served(fleet: Pick<Fleet, 'networks'>, port: number): Place[] {
  return [...fleet.networks()].flatMap(({ dhcp, interface: device, server }) =>
    dhcp === 'off' || device === null || server === null ? [] : [{ address: server, port }],
  );
}
