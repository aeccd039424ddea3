// The DHCP server: one listener per interface that the inventory names, one lease book for all of them.

import { isDirect } from '../../boot/choose-network.ts';
import { LeaseBook } from '../../boot/leases/lease-book.ts';
import { type Ipv4, ipv4ToNumber } from '../../domain/ipv4.ts';
import { isHeld } from '../../domain/lease.ts';
import type { Mac } from '../../domain/mac.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import { DhcpExchange } from './exchange.ts';
import { InterfaceListener } from './interface-listener.ts';
import { type SeenServer, SeenServers } from './seen-servers.ts';

export interface InterfaceState {
  readonly interface: string;
  readonly networks: readonly string[];
  readonly state: 'running' | 'starting' | 'failed';
  /** null: it answers. Otherwise the reason why it does not, or not yet. */
  readonly refusedBecause: string | null;
}

export class DhcpServer {
  readonly #deps: DhcpDeps;
  readonly #listeners = new Map<string, InterfaceListener>();
  readonly #failures = new Map<string, string>();
  readonly #seen = new SeenServers();
  #exchange: DhcpExchange | null = null;
  #book: LeaseBook | null = null;
  #reconciling: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(deps: DhcpDeps) {
    this.#deps = deps;
  }

  /** Reads the leases and opens every interface that a network names; `states` lists those that cannot be opened. */
  async start(): Promise<void> {
    const book = new LeaseBook(await this.#deps.store.leases());
    this.#book = book;
    this.#exchange = new DhcpExchange(this.#deps, book, (server, { port, network }) =>
      this.#listeners.get(port.networks.interface)?.sawOtherServer(server, 'a client accepted its offer', network),
    );
    await this.reconcile();
  }

  /** Syncs the listeners with the inventory; retries those that failed. */
  reconcile(): Promise<void> {
    const work = this.#reconciling.then(() => this.#reconcile());
    // A failure does not block the next attempt.
    this.#reconciling = work.catch(() => undefined);
    return work;
  }

  /** Every granted lease is on disk and acknowledged before the sockets close. */
  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#reconciling;
    for (const listener of this.#listeners.values()) listener.stopAnswering();
    await this.#exchange?.responder.idle();
    await Promise.all([...this.#listeners.values()].map((listener) => listener.close()));
    this.#listeners.clear();
  }

  states(): InterfaceState[] {
    return [...this.#desired()].map(([device, { networks }]) => {
      const about = { interface: device, networks };
      if (this.#listeners.has(device)) return { ...about, state: 'running', refusedBecause: null };
      const reason = this.#failures.get(device);
      return reason === undefined
        ? { ...about, state: 'starting', refusedBecause: 'it is still checking for other DHCP servers' }
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

  /** Servers that were heard lately on networks that we serve. Empty where the site says that others are expected. */
  otherServers(): readonly SeenServer[] {
    const { settings, clock } = this.#deps;
    return settings.ignoreOtherServers ? [] : this.#seen.list(clock.now());
  }

  /** The client that holds this address by a lease of ours. */
  macAt(address: Ipv4): Mac | null {
    const network = this.#deps.fleet.networkOf(address);
    const lease = network && this.#book?.of(network).leaseAt(address);
    return lease && isHeld(lease, this.#deps.clock.now()) ? lease.mac : null;
  }

  /** How many addresses of each network are in use. Cost grows with the number of leases. */
  usage(): { network: string; leases: number; poolLeases: number; poolAddresses: number }[] {
    const now = this.#deps.clock.now();
    return [...this.#deps.fleet.networks()].flatMap((network) => {
      if (network.dhcp !== 'authoritative') return [];
      const book = this.#book?.of(network);
      const held = [...(book?.leases() ?? [])].filter((lease) => isHeld(lease, now));
      const poolLeases = held.filter(({ address }) => book?.inPool(address)).length;
      const sizes = network.pools.map(({ from, to }) => ipv4ToNumber(to) - ipv4ToNumber(from) + 1);
      const poolAddresses = sizes.reduce((sum, size) => sum + size, 0);
      return [{ network: network.name, leases: held.length, poolLeases, poolAddresses }];
    });
  }

  /** Called by the script server: this machine got past its loader. */
  scriptFetched(mac: Mac): void {
    this.#exchange?.responder.loops.scriptFetched(mac);
  }

  async #reconcile(): Promise<void> {
    const desired = this.#stopped ? new Map<string, DesiredListener>() : this.#desired();
    for (const [device, listener] of [...this.#listeners]) {
      // A listener that becomes authoritative must first check for other servers.
      if (desired.get(device)?.isAuthority === listener.isAuthority && listener.isCurrent) continue;
      this.#listeners.delete(device);
      listener.stopAnswering();
      await this.#exchange?.responder.idle();
      await listener.close();
      this.#deps.logger.info({ interface: device }, `dhcp: no longer answers on ${device}`);
    }
    // A failure counts until the interface is open: a retry under way does not make it healthy.
    for (const device of [...this.#failures.keys()]) if (!desired.has(device)) this.#failures.delete(device);
    const missing = [...desired].filter(([device]) => !this.#listeners.has(device));
    await Promise.all(missing.map(([device, { isAuthority, networks }]) => this.#open(device, isAuthority, networks)));
  }

  async #open(device: string, isAuthority: boolean, networks: readonly string[]): Promise<void> {
    const { logger } = this.#deps;
    const listener = new InterfaceListener(
      device,
      isAuthority,
      this.#deps,
      (bytes, from, port) => this.#exchange?.receive(bytes, from, port),
      this.#seen,
    );
    try {
      await listener.open();
      this.#listeners.set(device, listener);
      this.#failures.delete(device);
      logger.info({ interface: device, networks }, `dhcp: answers on ${device}`);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#failures.set(device, reason);
      logger.error({ interface: device, networks, reason }, `dhcp: does not answer on ${device}`);
    }
  }

  #desired(): Map<string, DesiredListener> {
    const desired = new Map<string, DesiredListener>();
    for (const network of this.#deps.fleet.networks()) {
      if (network.dhcp === 'off' || network.interface === null) continue;
      const known = desired.get(network.interface);
      desired.set(network.interface, {
        networks: [...(known?.networks ?? []), network.name],
        isAuthority: (known?.isAuthority ?? false) || (network.dhcp === 'authoritative' && isDirect(network)),
      });
    }
    return desired;
  }
}

interface DesiredListener {
  readonly networks: readonly string[];
  readonly isAuthority: boolean;
}
