// Carries a decision out: renders and sends what is to be said, after whatever has to come first. A lease is on disk before
// its ACK leaves, and a pool address is looked at before it is first offered.

import type { BootDecision } from '../../boot/decide-boot.ts';
import type { ProxyDecision } from '../../boot/decide-proxy.ts';
import { type LeaseDecision, OFFER_HELD_MS, REST_MS } from '../../boot/leases/decide-lease.ts';
import { LEASE_BECAUSE, type LeaseReason } from '../../boot/leases/lease-because.ts';
import type { LeaseRequest } from '../../boot/leases/lease-request.ts';
import type { NetworkLeases } from '../../boot/leases/network-leases.ts';
import {
  type DhcpReply,
  dhcpReply,
  type NetworkValues,
  networkValues,
  replyLimit,
} from '../../boot/replies/dhcp-reply.ts';
import { type ReplyKind, replyAddress } from '../../boot/reply-address.ts';
import { encodeDhcp } from '../../codecs/dhcp4/encode.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Lease } from '../../domain/lease.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import { ByteSlab } from '../../net/udp/byte-slab.ts';
import type { UdpPeer } from '../../net/udp/udp-socket.ts';
import type { ConflictProbe } from './conflict-probe.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import type { Asked, ExchangeRecord, Told } from './exchange-record.ts';
import type { IngressNetworks } from './ingress-networks.ts';
import { LeaseWriter } from './lease-writer.ts';
import { LoopGuard } from './loop-guard.ts';

/** What tells whether a stranger uses an address: of the network on the wire, and of those behind relays. */
export interface Probes {
  readonly onWire: ConflictProbe | null;
  readonly behindRelay: ConflictProbe | null;
}

/** One port of one interface: what came in here is answered here. */
export interface Line {
  readonly networks: IngressNetworks;
  readonly isBootServer: boolean;
  readonly probes: Probes;
  send(bytes: Uint8Array, to: UdpPeer): void;
}

export interface Question extends Asked {
  readonly request: LeaseRequest;
  readonly boot: BootDecision;
  readonly leases: NetworkLeases;
  readonly serverIdentifier: Ipv4;
  readonly from: UdpPeer;
  readonly line: Line;
}

/** A client took the offer of this server. */
export type OnOtherServer = (server: Ipv4, where: Pick<Question, 'line' | 'network'>) => void;

type Decision = LeaseDecision | ProxyDecision;

interface Others {
  /** After an address turned out to be taken. */
  readonly decideAgain: (question: Question) => Decision;
  readonly onOtherServer: OnOtherServer;
}

export class Answering {
  readonly #around: DhcpDeps;
  readonly #record: ExchangeRecord;
  readonly #others: Others;
  readonly #writer: LeaseWriter;
  readonly #loops = new LoopGuard();
  /** Addresses that are being looked at. */
  readonly #probing = new Set<Ipv4>();
  readonly #networkValues = new WeakMap<SiteNetwork, NetworkValues>();
  readonly #memory = new ByteSlab();

  constructor(around: DhcpDeps, record: ExchangeRecord, others: Others) {
    this.#around = around;
    this.#record = record;
    this.#others = others;
    this.#writer = new LeaseWriter(around.store, (error, leases) =>
      around.logger.error(
        { err: error, leases },
        'dhcp: leases could not be written, so their clients are not answered',
      ),
    );
  }

  get loops(): LoopGuard {
    return this.#loops;
  }

  /** Resolves when every lease that was granted is on disk and its ACK has left. */
  idle(): Promise<void> {
    return this.#writer.idle();
  }

  carryOut(decision: Decision, question: Question): void {
    const { because } = decision;
    switch (decision.kind) {
      case 'silent':
        this.#silent(question, because);
        break;
      case 'offer':
        this.#offer(decision, question);
        break;
      case 'ack':
        this.#acknowledge(decision, question);
        break;
      case 'nak':
        this.#reply({ kind: 'nak', words: LEASE_BECAUSE[because] }, 'nak', question, because);
        break;
      case 'inform':
        this.#reply({ kind: 'inform' }, 'inform', question, because);
        break;
      case 'proxy-offer':
        this.#reply({ kind: 'proxy-offer' }, 'offer', question, because);
        break;
      case 'boot-server':
        this.#reply({ kind: 'boot-server' }, 'boot-server', question, because);
        break;
      case 'record':
        this.#writeDown(decision.lease, question, because);
        break;
      case 'withdraw':
        question.leases.withdraw(question.mac);
        this.#others.onOtherServer(decision.otherServer, question);
        this.#silent(question, because);
        break;
    }
  }

  #offer({ address, seconds, because }: LeaseDecision & { kind: 'offer' }, question: Question): void {
    const { leases, mac, line, request } = question;
    if (this.#probing.has(address)) {
      this.#silent(question, 'probe-under-way');
      return;
    }
    leases.hold(address, mac, this.#around.clock.now() + OFFER_HELD_MS);
    const { onWire, behindRelay } = line.probes;
    const probe = request.relay === null ? onWire : behindRelay;
    if (NEW_TO_US.includes(because) && probe?.hasRoom && !leases.isTrusted(address, mac, this.#around.clock.now()))
      this.#probe(address, probe, question);
    else this.#reply({ kind: 'offer', address, seconds }, 'offer', question, because);
  }

  #probe(address: Ipv4, probe: ConflictProbe, question: Question): void {
    const { leases, mac } = question;
    this.#probing.add(address);
    void probe.inUse(address, mac).then((inUse) => {
      this.#probing.delete(address);
      if (inUse) {
        leases.rest(address, this.#around.clock.now() + REST_MS);
        const words = 'dhcp: a stranger uses an address of the pool, which is left alone for a while';
        this.#record.note('dhcp.conflict', question, { address }, words);
      } else leases.trust(address, this.#around.clock.now() + OFFER_HELD_MS);
      this.carryOut(this.#others.decideAgain(question), question);
    });
  }

  #acknowledge({ lease, seconds, write, because }: LeaseDecision & { kind: 'ack' }, question: Question): void {
    const { leases, request } = question;
    const reply = { kind: 'ack', address: lease.address, seconds } as const;
    if (!write) {
      this.#reply(reply, 'ack', question, because, true);
      return;
    }
    leases.beginWriting(lease, request.xid, this.#around.clock.now() + OFFER_HELD_MS);
    this.#writer.write(lease, (written) => {
      if (written) {
        leases.record(lease);
        this.#reply(reply, 'ack', question, because);
      } else {
        leases.abandonWriting(lease);
        this.#record.told(question, 'silent', {
          because: 'not-written',
          words: 'the lease could not be written to disk',
          address: lease.address,
        });
      }
    });
  }

  /** Released and declined addresses: in force at once, since nobody is promised anything. */
  #writeDown(lease: Lease, question: Question, because: LeaseReason): void {
    const { leases, mac } = question;
    const { address } = lease;
    leases.record(lease);
    // And again behind what was on its way to the disk before it: memory and disk end alike.
    this.#writer.write(lease, (written) => {
      if (written) leases.record(lease);
    });
    if (lease.state === 'declined') {
      leases.noteDecline(mac, lease.grantedAt, lease.expiresAt);
      this.#record.note('dhcp.conflict', question, { address }, 'dhcp: a client found somebody else on its address');
    }
    this.#record.told(question, 'silent', { because, words: LEASE_BECAUSE[because], address });
  }

  #silent(question: Question, because: LeaseReason): void {
    const repeat = because === 'answer-under-way' || because === 'probe-under-way';
    this.#record.told(question, 'silent', { because, words: LEASE_BECAUSE[because], repeat });
  }

  #reply(reply: DhcpReply, kind: ReplyKind, question: Question, because: LeaseReason, repeat = false): void {
    const { message, facts, machine, network, serverIdentifier, boot, line, from } = question;
    const { bootPort } = this.#around.settings;
    const server = { address: network.server ?? serverIdentifier, bootPort };
    const stage = boot.nextStage;
    const values = this.#valuesOf(network);
    const context = { request: message, facts, machine, network, server, serverIdentifier, stage, values };
    const rendered = dhcpReply(reply, context);
    const { bytes, dropped } = encodeDhcp(rendered, { maxBytes: replyLimit(message), memory: this.#memory.take });
    line.send(bytes, replyAddress(message, kind, from));
    const given = reply.kind === 'offer' || reply.kind === 'ack' ? reply : null;
    this.#record.told(question, TOLD[kind], {
      because,
      words: LEASE_BECAUSE[because],
      repeat,
      file: rendered.file,
      address: given?.address,
      seconds: given?.seconds,
    });
    if (dropped.length > 0) {
      this.#around.logger.debug({ mac: question.mac, dropped }, 'dhcp: options that did not fit were left out');
    }
    if (facts.program === 'ipxe' && kind !== 'nak') this.#around.onIpxe(line.networks.interface);
    if (kind === 'ack' || kind === 'boot-server') this.#watchForLoop(question);
  }

  /** A changed network comes as another object. */
  #valuesOf(network: SiteNetwork): NetworkValues {
    const known = this.#networkValues.get(network);
    if (known !== undefined) return known;
    const values = networkValues(network);
    this.#networkValues.set(network, values);
    return values;
  }

  #watchForLoop(question: Question): void {
    const stage = question.boot.nextStage;
    if (stage.kind !== 'loader' || stage.starts !== 'ipxe') return;
    const { mac, message } = question;
    const times = this.#loops.sentTo(stage.file, mac, message.xid, this.#around.clock.now());
    if (times === null) return;
    const words = `dhcp: was sent to ${stage.file} ${times} times in a row and never fetched its script`;
    this.#record.note('dhcp.loop', question, { file: stage.file, times }, words);
  }
}

/** Addresses that the client does not have and never had. */
const NEW_TO_US: readonly LeaseReason[] = ['pool', 'address-asked-for', 'open-offer'];

const TOLD = {
  offer: 'offer',
  ack: 'ack',
  nak: 'nak',
  inform: 'ack',
  'boot-server': 'ack',
} as const satisfies Record<ReplyKind, Told>;
