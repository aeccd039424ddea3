// All sockets of one interface: port 67, the boot server's port 4011, port 68 where other servers are heard, and what
// addresses are probed with. Either all of them are open, or none.

import { networkInterfaces } from 'node:os';
import { BOOT_SERVER_PORT, SERVER_PORT } from '../../boot/reply-address.ts';
import { ColdironError } from '../../domain/errors.ts';
import { MINUTE } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { UdpPeer, UdpSocket } from '../../net/udp/udp-socket.ts';
import type { Line, Probes } from './answering.ts';
import { ConflictProbe, type Witness } from './conflict-probe.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import { EchoWitness } from './echo-witness.ts';
import { IngressNetworks } from './ingress-networks.ts';
import { NeighbourWitness } from './neighbour-witness.ts';
import { OtherServers } from './other-servers.ts';
import { Recent } from './recent.ts';

type Receive = (bytes: Uint8Array, from: UdpPeer, line: Line) => void;

const NO_PROBES: Probes = { onWire: null, behindRelay: null };
const ROGUE_REPORTED_EVERY_MS = 10 * MINUTE;

export class InterfaceListener {
  readonly device: string;
  /** Whether we give the addresses on its wire, and must be alone in that. */
  readonly isAuthority: boolean;
  readonly #around: DhcpDeps;
  readonly #receive: Receive;
  readonly #networks: IngressNetworks;
  readonly #rogues = new Recent(ROGUE_REPORTED_EVERY_MS);
  readonly #failures = new Recent(MINUTE);
  readonly #closers: (() => Promise<void> | void)[] = [];
  #isAnswering = false;
  #index: number | null = null;

  constructor(device: string, isAuthority: boolean, around: DhcpDeps, receive: Receive) {
    this.device = device;
    this.isAuthority = isAuthority;
    this.#around = around;
    this.#receive = receive;
    this.#networks = new IngressNetworks(around.fleet, device);
  }

  /** Rejects, with everything closed again, when a port is taken, or another server gives addresses here or may do so. */
  async open(): Promise<void> {
    this.#index = this.#around.interfaceIndex(this.device);
    try {
      const others = this.isAuthority ? await this.#listenForOthers() : null;
      await this.#openLine(SERVER_PORT, this.#around.settings.conflictProbe ? await this.#openProbes() : NO_PROBES);
      await this.#openLine(BOOT_SERVER_PORT, NO_PROBES);
      if (others !== null && !this.#around.settings.ignoreOtherServers) await this.#insistOnBeingAlone(others);
      this.#isAnswering = true;
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Sockets belong to an interface, not to its name: they stay deaf when a VLAN is taken away and made anew. */
  get isCurrent(): boolean {
    return this.#around.interfaceIndex(this.device) === this.#index;
  }

  /** What comes from now on is not answered; what is being answered still is. */
  stopAnswering(): void {
    this.#isAnswering = false;
  }

  async close(): Promise<void> {
    this.#isAnswering = false;
    for (let close = this.#closers.pop(); close; close = this.#closers.pop()) await close();
  }

  /** A server that gives addresses where we do, on our wire or behind a relay, noticed while we do. */
  sawOtherServer(server: Ipv4, how: string, on: Pick<SiteNetwork, 'name' | 'dhcp'> | null): void {
    const { clock, trail, logger } = this.#around;
    const network = on?.name ?? null;
    if (on?.dhcp !== 'authoritative' || this.#isOurs(server)) return;
    if (!this.#rogues.isNew(`${server} ${network}`, clock.now())) return;
    const data = { server, interface: this.device, network, how };
    trail.note({ kind: 'dhcp.rogue', mac: null, machine: null, siteWide: true, data });
    logger.warn(data, `dhcp: another server gives addresses on ${network}, by ${this.device}: ${server} (${how})`);
  }

  async #openLine(port: number, probes: Probes): Promise<void> {
    let socket: UdpSocket | null = null;
    const line: Line = {
      networks: this.#networks,
      isBootServer: port === BOOT_SERVER_PORT,
      probes,
      send: (bytes, to) => socket?.send(bytes, to),
    };
    const onMessage = (bytes: Uint8Array, from: UdpPeer): void => {
      if (this.#isAnswering) this.#receive(bytes, from, line);
    };
    socket = await this.#openSocket(port, onMessage);
  }

  async #openProbes(): Promise<Probes> {
    const { clock, neighbours, openEcho, randomBytes } = this.#around;
    const open = (witness: Witness): ConflictProbe => {
      const probe = new ConflictProbe(clock, witness);
      this.#closers.push(() => probe.close());
      return probe;
    };
    const onFailure = (error: Error): void => this.#failed(error, 'dhcp: addresses behind relays are offered unseen');
    const echoes = new EchoWitness({ device: this.device, openEcho, randomBytes, onFailure });
    if (!this.isAuthority) return { onWire: null, behindRelay: open(echoes) };
    const socket = await this.#openSocket(0, () => {});
    const wire = new NeighbourWitness(this.device, neighbours, (bytes, to) => socket.send(bytes, to));
    return { onWire: open(wire), behindRelay: open(echoes) };
  }

  async #listenForOthers(): Promise<OtherServers | null> {
    const { openUdp, settings, logger } = this.#around;
    const others = new OtherServers(
      this.#around,
      (address) => this.#isOurs(address),
      (server, how) => this.sawOtherServer(server, how, this.#networks.direct),
    );
    try {
      await others.listen(openUdp, this.device, (error) => this.#failed(error));
    } catch (error) {
      if (!settings.ignoreOtherServers) throw error;
      logger.warn({ err: error, interface: this.device }, 'dhcp: other servers cannot be noticed on this interface');
      return null;
    }
    this.#closers.push(() => others.close());
    return others;
  }

  async #insistOnBeingAlone(others: OtherServers): Promise<void> {
    const servers = await others.search().catch((error: Error) => {
      const why = `nobody can be asked on ${this.device} whether another DHCP server gives addresses there`;
      throw new ColdironError('service_unavailable', `${why}: ${error.message}; is the interface up?`);
    });
    if (servers.length === 0) return;
    const network = this.#networks.direct?.name ?? null;
    for (const server of servers) {
      const data = { server, interface: this.device, network, how: 'it was found' };
      this.#around.trail.note({ kind: 'dhcp.rogue', mac: null, machine: null, siteWide: true, data });
    }
    const [who, what] =
      servers.length === 1
        ? [`another DHCP server, ${servers[0]}, gives`, 'switch it off']
        : [`other DHCP servers, ${servers.join(' and ')}, give`, 'switch them off'];
    throw new ColdironError(
      'conflict',
      `${who} addresses on ${this.device}: ${what}, or set dhcp to proxy on this network`,
    );
  }

  async #openSocket(port: number, onMessage: (bytes: Uint8Array, from: UdpPeer) => void): Promise<UdpSocket> {
    const onError = (error: Error): void => this.#failed(error);
    const socket = await this.#around.openUdp({ interface: this.device, port, onMessage, onError });
    this.#closers.push(() => socket.close());
    return socket;
  }

  #failed(error: Error, words = 'dhcp: a packet could not be sent or received'): void {
    if (!this.#failures.isNew(error.message, this.#around.clock.now())) return;
    this.#around.logger.warn({ err: error, interface: this.device }, words);
  }

  #isOurs(address: Ipv4): boolean {
    for (const { server } of this.#around.fleet.networks()) if (server === address) return true;
    return (networkInterfaces()[this.device] ?? []).some((own) => own.address === address);
  }
}
