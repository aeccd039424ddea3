// The DHCP server: one listener per interface that the inventory names, one book of leases for all of them.

import { isDirect } from '../../boot/choose-network.ts';
import { LeaseBook } from '../../boot/leases/lease-book.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { isHeld } from '../../domain/lease.ts';
import type { Mac } from '../../domain/mac.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import { Exchange } from './exchange.ts';
import { InterfaceListener } from './interface-listener.ts';

export interface InterfaceState {
  readonly interface: string;
  readonly networks: readonly string[];
  readonly state: 'running' | 'starting' | 'failed';
  /** null: it answers. Otherwise why it does not, or not yet. */
  readonly refusedBecause: string | null;
}

export class DhcpServer {
  readonly #around: DhcpDeps;
  readonly #listeners = new Map<string, InterfaceListener>();
  readonly #refused = new Map<string, string>();
  #exchange: Exchange | null = null;
  #book: LeaseBook | null = null;
  #work: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(around: DhcpDeps) {
    this.#around = around;
  }

  /** Reads the leases and opens every interface that some network names; one that cannot be opened is in `states`. */
  async start(): Promise<void> {
    const book = new LeaseBook(await this.#around.store.leases());
    this.#book = book;
    this.#exchange = new Exchange(this.#around, book, (server, { line, network }) =>
      this.#listeners.get(line.networks.interface)?.sawOtherServer(server, 'a client took its offer', network),
    );
    await this.reconcile();
  }

  /** Brings the listeners in step with the inventory; one that was refused is tried again. */
  reconcile(): Promise<void> {
    const work = this.#work.then(() => this.#reconcile());
    // Whatever went wrong, the next one is another try.
    this.#work = work.catch(() => undefined);
    return work;
  }

  /** Every lease that was granted is on disk and acknowledged before the sockets close. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#work;
    for (const listener of this.#listeners.values()) listener.stopAnswering();
    await this.#exchange?.answering.idle();
    await Promise.all([...this.#listeners.values()].map((listener) => listener.close()));
    this.#listeners.clear();
  }

  states(): InterfaceState[] {
    return [...this.#wanted()].map(([device, { networks }]) => {
      const about = { interface: device, networks };
      if (this.#listeners.has(device)) return { ...about, state: 'running', refusedBecause: null };
      const reason = this.#refused.get(device);
      return reason === undefined
        ? { ...about, state: 'starting', refusedBecause: 'it still looks for other DHCP servers' }
        : { ...about, state: 'failed', refusedBecause: reason };
    });
  }

  /** The worst state of its interfaces. `starting` lasts while an interface is opened and probed for other servers. */
  health(): 'running' | 'off' | 'starting' | 'failed' {
    const states = new Set(this.states().map(({ state }) => state));
    if (states.size === 0) return 'off';
    if (states.has('failed')) return 'failed';
    return states.has('starting') ? 'starting' : 'running';
  }

  /** Who holds this address by a lease of ours. */
  macAt(address: Ipv4): Mac | null {
    const network = this.#around.fleet.networkOf(address);
    const lease = network && this.#book?.of(network).leaseAt(address);
    return lease && isHeld(lease, this.#around.clock.now()) ? lease.mac : null;
  }

  /** From whoever serves scripts: this machine got beyond its loader. */
  scriptFetched(mac: Mac): void {
    this.#exchange?.answering.loops.scriptFetched(mac);
  }

  async #reconcile(): Promise<void> {
    const wanted = this.#stopped ? new Map<string, Wanted>() : this.#wanted();
    for (const [device, listener] of [...this.#listeners]) {
      // Whoever becomes the authority has to look for others first.
      if (wanted.get(device)?.isAuthority === listener.isAuthority && listener.isCurrent) continue;
      this.#listeners.delete(device);
      listener.stopAnswering();
      await this.#exchange?.answering.idle();
      await listener.close();
      this.#around.logger.info({ interface: device }, `dhcp: no longer answers on ${device}`);
    }
    // A refusal counts until the interface is open: trying again does not make it healthy.
    for (const device of [...this.#refused.keys()]) if (!wanted.has(device)) this.#refused.delete(device);
    const missing = [...wanted].filter(([device]) => !this.#listeners.has(device));
    await Promise.all(missing.map(([device, { isAuthority, networks }]) => this.#open(device, isAuthority, networks)));
  }

  async #open(device: string, isAuthority: boolean, networks: readonly string[]): Promise<void> {
    const { logger } = this.#around;
    const listener = new InterfaceListener(device, isAuthority, this.#around, (bytes, from, line) =>
      this.#exchange?.receive(bytes, from, line),
    );
    try {
      await listener.open();
      this.#listeners.set(device, listener);
      this.#refused.delete(device);
      logger.info({ interface: device, networks }, `dhcp: answers on ${device}`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#refused.set(device, reason);
      logger.error({ interface: device, networks, reason }, `dhcp: does not answer on ${device}`);
    }
  }

  #wanted(): Map<string, Wanted> {
    const wanted = new Map<string, Wanted>();
    for (const network of this.#around.fleet.networks()) {
      if (network.dhcp === 'off' || network.interface === null) continue;
      const known = wanted.get(network.interface);
      wanted.set(network.interface, {
        networks: [...(known?.networks ?? []), network.name],
        isAuthority: (known?.isAuthority ?? false) || (network.dhcp === 'authoritative' && isDirect(network)),
      });
    }
    return wanted;
  }
}

interface Wanted {
  readonly networks: readonly string[];
  readonly isAuthority: boolean;
}
