// One packet from the wire to the answer: decode, find the network, ask the resolver, decide on the address, and hand the
// decision to whoever carries it out.

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
import { Answering, type Line, type OnOtherServer, type Question } from './answering.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import { ExchangeRecord } from './exchange-record.ts';

const TAKEN_FOR_IPXE = 'fetched its loader again and again: taken for an iPXE that does not say so';

export class Exchange {
  readonly #around: DhcpDeps;
  readonly #book: LeaseBook;
  readonly #record: ExchangeRecord;
  readonly #answering: Answering;
  readonly #onOtherServer: OnOtherServer;

  constructor(around: DhcpDeps, book: LeaseBook, onOtherServer: OnOtherServer) {
    this.#around = around;
    this.#onOtherServer = onOtherServer;
    this.#book = book;
    this.#record = new ExchangeRecord(around);
    this.#answering = new Answering(around, this.#record, {
      decideAgain: (question) => this.#decide(question),
      onOtherServer,
    });
  }

  get answering(): Answering {
    return this.#answering;
  }

  receive(bytes: Uint8Array, from: UdpPeer, line: Line): void {
    try {
      this.#receive(bytes, from, line);
    } catch (error) {
      const { address } = from;
      if (error instanceof DhcpDecodeError) this.#passOver('malformed', error.message, null, address, line);
      else this.#around.logger.error({ err: error, from: address }, 'dhcp: a packet could not be dealt with');
    }
  }

  #receive(bytes: Uint8Array, from: UdpPeer, line: Line): void {
    const message = decodeDhcp(bytes);
    // Servers speak to each other on this port only through relays, and those are not ours.
    if (message.op !== 'request') return;
    const type = messageType(message);
    const facts = this.#taken(factsFromDhcp(message), message.xid);
    const passOver = (because: LeaseReason, words: string = LEASE_BECAUSE[because]): void =>
      this.#passOver(because, words, facts.mac, from.address, line);

    if (type === null) passOver('malformed', 'plain BOOTP, without a message type');
    else if (facts.mac === null) passOver('not-ethernet');
    else {
      const request = readLeaseRequest(message, type);
      const choice = request.ok ? chooseNetwork(request.value, line.networks) : null;
      if (!request.ok) passOver('malformed', request.reason);
      else if (choice?.network == null) passOver(choice?.because ?? 'no-network');
      else if (choice.network.dhcp === 'off') passOver('dhcp-off');
      else {
        const { network } = choice;
        this.#resolve({ message, type, facts, mac: facts.mac, request: request.value, network, from, line });
      }
    }
  }

  /** For what it says that it is, except in a loop. */
  #taken(facts: ClientFacts, xid: number): ClientFacts {
    const { program, mac, oddities } = facts;
    if (program !== 'firmware-pxe' || mac === null) return facts;
    if (!this.#answering.loops.isTakenForIpxe(mac, xid, this.#around.clock.now())) return facts;
    return { ...facts, program: 'ipxe', ipxe: null, oddities: [...oddities, TAKEN_FOR_IPXE] };
  }

  #resolve(heard: Omit<Question, 'machine' | 'about' | 'boot' | 'leases' | 'serverIdentifier'>): void {
    const { message, type, facts, mac, network, request, from, line } = heard;
    const { machine, about, decision } = this.#around.resolver.resolve(facts, network);
    const asked = { message, type, facts, mac, network, machine, about };
    this.#record.asked(asked);
    this.#tellOthers(facts, type, asked, decision);
    if (network.server === null || decision.outcome.kind === 'silent') {
      const { id, words } = decision.because;
      this.#record.told(asked, 'silent', { because: id, words });
      // A machine that we have nothing to say to tells us all the same who else gives addresses here.
      const other = network.server === null ? null : otherServerChosen(request, network.server, network.server);
      if (other !== null) this.#onOtherServer(other, heard);
    } else {
      const serverIdentifier = request.relayAgent?.serverOverride ?? network.server;
      const leases = this.#book.of(network);
      const boot = decision;
      const question = {
        message,
        type,
        facts,
        mac,
        network,
        machine,
        about,
        request,
        from,
        line,
        boot,
        leases,
        serverIdentifier,
      };
      this.#answering.carryOut(this.#decide(question), question);
    }
  }

  #decide(question: Question): LeaseDecision | ProxyDecision {
    const { request, facts, mac, network, machine, leases, boot, serverIdentifier, line } = question;
    if (line.isBootServer) return decideBootServer(request, facts.program, boot.nextStage);
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
      times: this.#around.settings.leaseTimes,
      now: this.#around.clock.now(),
    });
  }

  #reservedAt(address: Ipv4, network: string): { readonly mac: Question['mac'] | null } | null {
    const holder = this.#around.fleet.machineByAddress(address);
    if (holder === null) return null;
    return holder.spec.interfaces.find((nic) => nic.address === address && nic.network === network) ?? null;
  }

  #tellOthers(
    facts: ClientFacts,
    type: DhcpMessageType,
    { machine, network }: Pick<Question, 'machine' | 'network'>,
    decision: BootDecision,
  ): void {
    if (machine !== null) for (const finding of decision.findings) this.#around.onFinding(machine, finding);
    else if (type === 'discover' && facts.program !== 'os') this.#around.onUnknown(facts, network);
  }

  #passOver(reason: string, words: string, mac: Mac | null, from: Ipv4, line: Line): void {
    this.#record.passedOver(reason, words, { mac, interface: line.networks.interface, from });
  }
}
