// All sockets of one interface: port 67, the boot server's port 4011, port 68 to detect other servers, and the probe sockets.
// Either all of them are open, or none.

import { networkInterfaces } from 'node:os';
import { BOOT_SERVER_PORT, SERVER_PORT } from '../../boot/reply-address.ts';
import { ColdironError } from '../../domain/errors.ts';
import { MINUTE } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { UdpPeer, UdpSocket } from '../../net/udp/udp-socket.ts';
import { ArpProbe, neighboursOn } from './arp-probe.ts';
import { ConflictProbe, type ProbeMethod } from './conflict-probe.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import { EchoProbe } from './echo-probe.ts';
import { IngressNetworks } from './ingress-networks.ts';
import { OtherServers } from './other-servers.ts';
import { Recent } from './recent.ts';
import type { DhcpPort, Probes } from './responder.ts';
import type { SeenServers } from './seen-servers.ts';

type Receive = (bytes: Uint8Array, from: UdpPeer, port: DhcpPort) => void;

const NO_PROBES: Probes = { onWire: null, behindRelay: null };
/** The kernel asks once a second, and an answer takes milliseconds. */
const RESOLVED_WITHIN_MS = 500;
const ROGUE_REPORTED_EVERY_MS = 10 * MINUTE;

export class InterfaceListener {
  readonly device: string;
  /** Whether we assign the addresses on its link, and must be the only server that does. */
  readonly isAuthority: boolean;
  readonly #deps: DhcpDeps;
  readonly #receive: Receive;
  readonly #networks: IngressNetworks;
  readonly #seen: SeenServers;
  readonly #rogues = new Recent(ROGUE_REPORTED_EVERY_MS);
  readonly #failures = new Recent(MINUTE);
  readonly #closers: (() => Promise<void> | void)[] = [];
  /** Makes the kernel resolve an address on this link. */
  #resolve: ((address: Ipv4) => void) | null = null;
  #isAnswering = false;
  #index: number | null = null;

  constructor(device: string, isAuthority: boolean, deps: DhcpDeps, receive: Receive, seen: SeenServers) {
    this.device = device;
    this.isAuthority = isAuthority;
    this.#deps = deps;
    this.#receive = receive;
    this.#seen = seen;
    this.#networks = new IngressNetworks(deps.fleet, device);
  }

  /** Closes everything and rejects when a port is in use, or when another server assigns addresses here or may do so. */
  async open(): Promise<void> {
    this.#index = this.#deps.interfaceIndex(this.device);
    try {
      const others = this.isAuthority ? await this.#detectOthers() : null;
      await this.#openPort(SERVER_PORT, this.#deps.settings.conflictProbe ? await this.#openProbes() : NO_PROBES);
      await this.#openPort(BOOT_SERVER_PORT, NO_PROBES);
      if (others !== null && !this.#deps.settings.ignoreOtherServers) await this.#requireNoOthers(others);
      this.#isAnswering = true;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Sockets are bound to an interface, not to its name: they receive nothing after a VLAN is deleted and recreated. */
  get isCurrent(): boolean {
    return this.#deps.interfaceIndex(this.device) === this.#index;
  }

  /** Ignores new requests; replies under way are still sent. */
  stopAnswering(): void {
    this.#isAnswering = false;
  }

  async close(): Promise<void> {
    this.#isAnswering = false;
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) await close();
  }

  /** Reports a server that assigns addresses on a network that we serve, on our link or behind a relay. */
  sawOtherServer(server: Ipv4, how: string, on: Pick<SiteNetwork, 'name' | 'dhcp'> | null): void {
    const { clock, trail, logger } = this.#deps;
    const network = on?.name ?? null;
    if (on?.dhcp !== 'authoritative' || this.#isOurs(server)) return;
    this.#remember(server, on.name, how);
    if (!this.#rogues.isNew(`${server} ${network}`, clock.now())) return;
    const data = { server, interface: this.device, network, how };
    trail.note({ kind: 'dhcp.rogue', mac: null, machine: null, siteWide: true, data });
    logger.warn(data, `dhcp: another server assigns addresses on ${network}, via ${this.device}: ${server} (${how})`);
  }

  /** Its hardware address names the host, or at least its maker; the kernel asks for it when a packet is sent. */
  #remember(address: Ipv4, network: string, how: string): void {
    const { clock, neighbours } = this.#deps;
    const server = { network, interface: this.device, address, how };
    if (!this.#seen.saw(server, clock.now())) return;
    const look = (): void => {
      neighbours()
        .then((table) => {
          const mac = neighboursOn(this.device, table).get(address);
          if (mac !== undefined) this.#seen.answersFrom(server, mac);
        })
        .catch((error: Error) => this.#logFailure(error, 'dhcp: the neighbour table cannot be read'));
    };
    this.#resolve?.(address);
    look();
    const later = clock.setTimer(RESOLVED_WITHIN_MS, look);
    this.#closers.push(() => later.cancel());
  }

  async #openPort(number: number, probes: Probes): Promise<void> {
    let socket: UdpSocket | null = null;
    const port: DhcpPort = {
      networks: this.#networks,
      isBootServer: number === BOOT_SERVER_PORT,
      probes,
      send: (bytes, to) => socket?.send(bytes, to),
    };
    const onMessage = (bytes: Uint8Array, from: UdpPeer): void => {
      if (this.#isAnswering) this.#receive(bytes, from, port);
    };
    socket = await this.#openSocket(number, onMessage);
  }

  async #openProbes(): Promise<Probes> {
    const { clock, neighbours, openEcho, randomBytes } = this.#deps;
    const open = (method: ProbeMethod): ConflictProbe => {
      const probe = new ConflictProbe(clock, method);
      this.#closers.push(() => probe.close());
      return probe;
    };
    const onFailure = (error: Error): void =>
      this.#logFailure(error, 'dhcp: addresses behind relays cannot be probed and are offered without a probe');
    const echoes = new EchoProbe({ device: this.device, openEcho, randomBytes, onFailure });
    if (!this.isAuthority) return { onWire: null, behindRelay: open(echoes) };
    const socket = await this.#openSocket(0, () => {});
    const arp = new ArpProbe(this.device, neighbours, (bytes, to) => socket.send(bytes, to));
    this.#resolve = (address) => void arp.probe(address);
    return { onWire: open(arp), behindRelay: open(echoes) };
  }

  async #detectOthers(): Promise<OtherServers | null> {
    const { openUdp, settings, logger } = this.#deps;
    const others = new OtherServers(
      this.#deps,
      (address) => this.#isOurs(address),
      (server, how) => this.sawOtherServer(server, how, this.#networks.direct),
    );
    try {
      await others.listen(openUdp, this.device, (error) => this.#logFailure(error));
    } catch (error) {
      if (!settings.ignoreOtherServers) throw error;
      logger.warn({ err: error, interface: this.device }, 'dhcp: other servers cannot be detected on this interface');
      return null;
    }
    this.#closers.push(() => others.close());
    return others;
  }

  async #requireNoOthers(others: OtherServers): Promise<void> {
    const servers = await others.search().catch((error: Error) => {
      const why = `cannot check on ${this.device} whether another DHCP server assigns addresses there`;
      throw new ColdironError('service_unavailable', `${why}: ${error.message}; is the interface up?`);
    });
    if (servers.length === 0) return;
    const network = this.#networks.direct?.name ?? null;
    for (const server of servers) {
      const data = { server, interface: this.device, network, how: 'it answered a DISCOVER' };
      this.#deps.trail.note({ kind: 'dhcp.rogue', mac: null, machine: null, siteWide: true, data });
      this.#remember(server, network ?? this.device, data.how);
    }
    const [who, what] =
      servers.length === 1
        ? [`another DHCP server, ${servers[0]}, assigns`, 'switch it off']
        : [`other DHCP servers, ${servers.join(' and ')}, assign`, 'switch them off'];
    throw new ColdironError(
      'conflict',
      `${who} addresses on ${this.device}: ${what}, or set dhcp to proxy on this network`,
    );
  }

  async #openSocket(port: number, onMessage: (bytes: Uint8Array, from: UdpPeer) => void): Promise<UdpSocket> {
    const onError = (error: Error): void => this.#logFailure(error);
    const socket = await this.#deps.openUdp({ interface: this.device, port, onMessage, onError });
    this.#closers.push(() => socket.close());
    return socket;
  }

  #logFailure(error: Error, words = 'dhcp: a packet could not be sent or received'): void {
    if (!this.#failures.isNew(error.message, this.#deps.clock.now())) return;
    this.#deps.logger.warn({ err: error, interface: this.device }, words);
  }

  #isOurs(address: Ipv4): boolean {
    for (const { server } of this.#deps.fleet.networks()) if (server === address) return true;
    return (networkInterfaces()[this.device] ?? []).some((own) => own.address === address);
  }
}
