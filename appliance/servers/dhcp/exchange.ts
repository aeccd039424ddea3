// Handles one packet: decodes it, finds the network, resolves the boot, decides on the lease, and passes the decision to the
// responder.

import { chooseNetwork } from '../../boot/choose-network.ts';
import { type ClientFacts, factsFromDhcp } from '../../boot/client-facts.ts';
import type { BootDecision } from '../../boot/decide-boot.ts';
import { decideBootServer, decideProxy, type ProxyDecision } from '../../boot/decide-proxy.ts';
import { decideLease, type LeaseDecision, otherServerChosen } from '../../boot/leases/decide-lease.ts';
import { LEASE_BECAUSE, type LeaseReason } from '../../boot/leases/lease-because.ts';
import type { LeaseBook } from '../../boot/leases/lease-book.ts';
import { readLeaseRequest } from '../../boot/leases/lease-request.ts';
import { decodeDhcp } from '../../codecs/dhcp4/decode.ts';
import { DhcpDecodeError } from '../../codecs/dhcp4/errors.ts';
import { type DhcpMessageType, messageType } from '../../codecs/dhcp4/options.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { UdpPeer } from '../../net/udp/udp-socket.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import { ExchangeRecord } from './exchange-record.ts';
import { type DhcpPort, type OnOtherServer, type RequestContext, Responder } from './responder.ts';

const TAKEN_FOR_IPXE = 'fetched its loader repeatedly: treated as an iPXE that does not identify itself';

export class DhcpExchange {
  readonly #deps: DhcpDeps;
  readonly #book: LeaseBook;
  readonly #record: ExchangeRecord;
  readonly #responder: Responder;
  readonly #onOtherServer: OnOtherServer;

  constructor(deps: DhcpDeps, book: LeaseBook, onOtherServer: OnOtherServer) {
    this.#deps = deps;
    this.#onOtherServer = onOtherServer;
    this.#book = book;
    this.#record = new ExchangeRecord(deps);
    this.#responder = new Responder(deps, this.#record, {
      redecide: (context) => this.#decide(context),
      onOtherServer,
    });
  }

  get responder(): Responder {
    return this.#responder;
  }

  receive(bytes: Uint8Array, from: UdpPeer, port: DhcpPort): void {
    try {
      this.#receive(bytes, from, port);
    } catch (error) {
      const { address } = from;
      if (error instanceof DhcpDecodeError) this.#ignore('malformed', error.message, null, address, port);
      else this.#deps.logger.error({ err: error, from: address }, 'dhcp: a packet could not be processed');
    }
  }

  #receive(bytes: Uint8Array, from: UdpPeer, port: DhcpPort): void {
    const message = decodeDhcp(bytes);
    // Replies reach this port only for relays, and we are not one.
    if (message.op !== 'request') return;
    const type = messageType(message);
    const facts = this.#effectiveFacts(factsFromDhcp(message), message.xid);
    const ignore = (because: LeaseReason, words: string = LEASE_BECAUSE[because]): void =>
      this.#ignore(because, words, facts.mac, from.address, port);

    if (type === null) ignore('malformed', 'plain BOOTP: no message type');
    else if (facts.mac === null) ignore('not-ethernet');
    else {
      const request = readLeaseRequest(message, type);
      const choice = request.ok ? chooseNetwork(request.value, port.networks) : null;
      if (!request.ok) ignore('malformed', request.reason);
      else if (choice?.network == null) ignore(choice?.because ?? 'no-network');
      else if (choice.network.dhcp === 'off') ignore('dhcp-off');
      else {
        const { network } = choice;
        this.#resolve({ message, type, facts, mac: facts.mac, request: request.value, network, from, port });
      }
    }
  }

  /** The facts as the client states them, except in a boot loop. */
  #effectiveFacts(facts: ClientFacts, xid: number): ClientFacts {
    const { program, mac, oddities } = facts;
    if (program !== 'firmware-pxe' || mac === null) return facts;
    if (!this.#responder.loops.isTakenForIpxe(mac, xid, this.#deps.clock.now())) return facts;
    return { ...facts, program: 'ipxe', ipxe: null, oddities: [...oddities, TAKEN_FOR_IPXE] };
  }

  #resolve(received: Omit<RequestContext, 'machine' | 'about' | 'boot' | 'leases' | 'serverIdentifier'>): void {
    const { message, type, facts, mac, network, request, from, port } = received;
    const { machine, about, decision } = this.#deps.resolver.resolve(facts, network);
    const known = { message, type, facts, mac, network, machine, about };
    this.#record.request(known);
    this.#notify(facts, type, known, decision);
    if (network.server === null || decision.outcome.kind === 'silent') {
      const { id, words } = decision.because;
      this.#record.reply(known, 'silent', { because: id, words });
      // A request that gets no reply still shows which other server assigns addresses here.
      const other = network.server === null ? null : otherServerChosen(request, network.server, network.server);
      if (other !== null) this.#onOtherServer(other, received);
    } else {
      const serverIdentifier = request.relayAgent?.serverOverride ?? network.server;
      const leases = this.#book.of(network);
      const boot = decision;
      const context = {
        message,
        type,
        facts,
        mac,
        network,
        machine,
        about,
        request,
        from,
        port,
        boot,
        leases,
        serverIdentifier,
      };
      this.#responder.carryOut(this.#decide(context), context);
    }
  }

  #decide(context: RequestContext): LeaseDecision | ProxyDecision {
    const { request, facts, mac, network, machine, leases, boot, serverIdentifier, port } = context;
    if (port.isBootServer) return decideBootServer(request, facts.program, boot.nextStage);
    if (network.dhcp === 'proxy') return decideProxy(request, facts.program, boot.nextStage);
    return decideLease({
      request,
      mac,
      program: facts.program,
      network,
      machine,
      serverIdentifier,
      leases,
      reservedAt: (address) => this.#reservedAt(address, network.name),
      times: this.#deps.settings.leaseTimes,
      now: this.#deps.clock.now(),
    });
  }

  #reservedAt(address: Ipv4, network: string): { readonly mac: RequestContext['mac'] | null } | null {
    const holder = this.#deps.fleet.machineByAddress(address);
    if (holder === null) return null;
    return holder.spec.interfaces.find((nic) => nic.address === address && nic.network === network) ?? null;
  }

  #notify(
    facts: ClientFacts,
    type: DhcpMessageType,
    { machine, network }: Pick<RequestContext, 'machine' | 'network'>,
    decision: BootDecision,
  ): void {
    if (machine !== null) for (const finding of decision.findings) this.#deps.onFinding(machine, finding);
    else if (type === 'discover' && facts.program !== 'os') this.#deps.onUnknown(facts, network);
  }

  #ignore(reason: string, words: string, mac: Mac | null, from: Ipv4, port: DhcpPort): void {
    this.#record.ignored(reason, words, { mac, interface: port.networks.interface, from });
  }
}
