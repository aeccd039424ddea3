// Carries out a decision: renders and sends the reply. A lease is on disk before its ACK is sent, and a pool address is
// probed before its first offer.

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
import type { ExchangeRecord, ReceivedRequest, RecordedReply } from './exchange-record.ts';
import type { IngressNetworks } from './ingress-networks.ts';
import { LeaseWriter } from './lease-writer.ts';
import { LoopGuard } from './loop-guard.ts';

/** Conflict probes: for the directly attached network, and for networks behind relays. */
export interface Probes {
  readonly onWire: ConflictProbe | null;
  readonly behindRelay: ConflictProbe | null;
}

/** One UDP port of one interface: replies leave through the port that received the request. */
export interface DhcpPort {
  readonly networks: IngressNetworks;
  readonly isBootServer: boolean;
  readonly probes: Probes;
  send(bytes: Uint8Array, to: UdpPeer): void;
}

export interface RequestContext extends ReceivedRequest {
  readonly request: LeaseRequest;
  readonly boot: BootDecision;
  readonly leases: NetworkLeases;
  readonly serverIdentifier: Ipv4;
  readonly from: UdpPeer;
  readonly port: DhcpPort;
}

/** A client accepted the offer of this other server. */
export type OnOtherServer = (server: Ipv4, where: Pick<RequestContext, 'port' | 'network'>) => void;

type Decision = LeaseDecision | ProxyDecision;

interface ResponderCallbacks {
  /** Decides again after a probe. */
  readonly redecide: (context: RequestContext) => Decision;
  readonly onOtherServer: OnOtherServer;
}

export class Responder {
  readonly #deps: DhcpDeps;
  readonly #record: ExchangeRecord;
  readonly #callbacks: ResponderCallbacks;
  readonly #writer: LeaseWriter;
  readonly #loops = new LoopGuard();
  /** Addresses with a probe under way. */
  readonly #probing = new Set<Ipv4>();
  readonly #networkValues = new WeakMap<SiteNetwork, NetworkValues>();
  readonly #memory = new ByteSlab();

  constructor(deps: DhcpDeps, record: ExchangeRecord, callbacks: ResponderCallbacks) {
    this.#deps = deps;
    this.#record = record;
    this.#callbacks = callbacks;
    this.#writer = new LeaseWriter(deps.store, (error, leases) =>
      deps.logger.error({ err: error, leases }, 'dhcp: leases could not be written to disk; their clients get no ACK'),
    );
  }

  get loops(): LoopGuard {
    return this.#loops;
  }

  /** Resolves when every granted lease is on disk and its ACK was sent. */
  idle(): Promise<void> {
    return this.#writer.idle();
  }

  carryOut(decision: Decision, context: RequestContext): void {
    const { because } = decision;
    switch (decision.kind) {
      case 'silent':
        this.#silent(context, because);
        break;
      case 'offer':
        this.#offer(decision, context);
        break;
      case 'ack':
        this.#acknowledge(decision, context);
        break;
      case 'nak':
        this.#reply({ kind: 'nak', words: LEASE_BECAUSE[because] }, 'nak', context, because);
        break;
      case 'inform':
        this.#reply({ kind: 'inform' }, 'inform', context, because);
        break;
      case 'proxy-offer':
        this.#reply({ kind: 'proxy-offer' }, 'offer', context, because);
        break;
      case 'boot-server':
        this.#reply({ kind: 'boot-server' }, 'boot-server', context, because);
        break;
      case 'record':
        this.#writeLease(decision.lease, context, because);
        break;
      case 'withdraw':
        context.leases.withdraw(context.mac);
        this.#callbacks.onOtherServer(decision.otherServer, context);
        this.#silent(context, because);
        break;
    }
  }

  #offer({ address, seconds, hold, because }: LeaseDecision & { kind: 'offer' }, context: RequestContext): void {
    const { leases, mac, port, request } = context;
    if (this.#probing.has(address)) {
      this.#silent(context, 'probe-under-way');
      return;
    }
    const at = this.#deps.clock.now();
    leases.hold({ address, mac, at, until: at + hold.ms, rank: hold.rank, port: hold.port });
    const { onWire, behindRelay } = port.probes;
    const probe = request.relay === null ? onWire : behindRelay;
    if (NOT_HELD_BEFORE.includes(because) && probe?.hasCapacity && !leases.isTrusted(address, mac, at))
      this.#probe(address, probe, context);
    else this.#reply({ kind: 'offer', address, seconds }, 'offer', context, because);
  }

  #probe(address: Ipv4, probe: ConflictProbe, context: RequestContext): void {
    const { leases, mac } = context;
    this.#probing.add(address);
    void probe.inUse(address, mac).then((inUse) => {
      this.#probing.delete(address);
      if (inUse) {
        leases.rest(address, this.#deps.clock.now() + REST_MS);
        const words = 'dhcp: another host uses an address of the pool; it is not offered for a while';
        this.#record.note('dhcp.conflict', context, { address }, words);
      } else leases.trust(address, this.#deps.clock.now() + OFFER_HELD_MS);
      this.carryOut(this.#callbacks.redecide(context), context);
    });
  }

  #acknowledge({ lease, seconds, write, because }: LeaseDecision & { kind: 'ack' }, context: RequestContext): void {
    const { leases, request } = context;
    const reply = { kind: 'ack', address: lease.address, seconds } as const;
    if (!write) {
      this.#reply(reply, 'ack', context, because, true);
      return;
    }
    leases.beginWriting(lease, request.xid, this.#deps.clock.now() + OFFER_HELD_MS);
    this.#writer.write(lease, (written) => {
      if (written) {
        leases.record(lease);
        this.#reply(reply, 'ack', context, because);
      } else {
        leases.abandonWriting(lease);
        this.#record.reply(context, 'silent', {
          because: 'not-written',
          words: 'the lease could not be written to disk',
          address: lease.address,
        });
      }
    });
  }

  /** Released and declined addresses take effect at once: no client waits for a reply. */
  #writeLease(lease: Lease, context: RequestContext, because: LeaseReason): void {
    const { leases, mac } = context;
    const { address } = lease;
    leases.record(lease);
    // Recorded again after writes that were queued earlier, so that memory and disk agree in the end.
    this.#writer.write(lease, (written) => {
      if (written) leases.record(lease);
    });
    if (lease.state === 'declined') {
      leases.noteDecline(mac, lease.grantedAt, lease.expiresAt);
      this.#record.note(
        'dhcp.conflict',
        context,
        { address },
        'dhcp: a client declined its address: another host uses it',
      );
    }
    this.#record.reply(context, 'silent', { because, words: LEASE_BECAUSE[because], address });
  }

  #silent(context: RequestContext, because: LeaseReason): void {
    if (because === 'pool-exhausted' || because === 'port-exhausted')
      context.leases.noteTurnedAway(context.mac, this.#deps.clock.now());
    const repeat = because === 'answer-under-way' || because === 'probe-under-way';
    this.#record.reply(context, 'silent', { because, words: LEASE_BECAUSE[because], repeat });
  }

  #reply(reply: DhcpReply, kind: ReplyKind, context: RequestContext, because: LeaseReason, repeat = false): void {
    const { message, facts, machine, network, serverIdentifier, boot, port, from } = context;
    const { bootPort } = this.#deps.settings;
    const server = { address: network.server ?? serverIdentifier, bootPort };
    const stage = boot.nextStage;
    const values = this.#valuesOf(network);
    const replyContext = { request: message, facts, machine, network, server, serverIdentifier, stage, values };
    const rendered = dhcpReply(reply, replyContext);
    const { bytes, dropped } = encodeDhcp(rendered, { maxBytes: replyLimit(message), memory: this.#memory.take });
    port.send(bytes, replyAddress(message, kind, from));
    const given = reply.kind === 'offer' || reply.kind === 'ack' ? reply : null;
    this.#record.reply(context, RECORDED_AS[kind], {
      because,
      words: LEASE_BECAUSE[because],
      repeat,
      file: rendered.file,
      noFile: kind === 'nak' ? undefined : noFileBecause(context),
      address: given?.address,
      seconds: given?.seconds,
    });
    if (dropped.length > 0) {
      this.#deps.logger.debug({ mac: context.mac, dropped }, 'dhcp: left out options that do not fit into the reply');
    }
    if (facts.program === 'ipxe' && kind !== 'nak') this.#deps.onIpxe(port.networks.interface);
    if (kind === 'ack' || kind === 'boot-server') this.#watchForLoop(context);
  }

  /** A changed network is a new object. */
  #valuesOf(network: SiteNetwork): NetworkValues {
    const known = this.#networkValues.get(network);
    if (known !== undefined) return known;
    const values = networkValues(network);
    this.#networkValues.set(network, values);
    return values;
  }

  #watchForLoop(context: RequestContext): void {
    const stage = context.boot.nextStage;
    if (stage.kind !== 'loader' || stage.starts !== 'ipxe') return;
    const { mac, message, about } = context;
    const since = about?.lifecycle.since ?? 0;
    const times = this.#loops.sentTo(stage.file, mac, message.xid, this.#deps.clock.now(), since);
    if (times === null) return;
    const words = `dhcp: boot loop: got the loader ${stage.file} ${times} times in a row and never fetched its script`;
    this.#record.note('dhcp.loop', context, { file: stage.file, times }, words);
  }
}

/** An operating system asks for an address only. */
function noFileBecause({ facts, boot: { nextStage } }: RequestContext): string | undefined {
  const looksForFile = facts.program === 'firmware-pxe' || facts.program === 'firmware-http';
  return looksForFile && nextStage.kind === 'nothing' ? nextStage.because.words : undefined;
}

/** Reasons for which the client does not already hold the address. */
const NOT_HELD_BEFORE: readonly LeaseReason[] = ['pool', 'oldest-offer', 'address-asked-for', 'open-offer'];

const RECORDED_AS = {
  offer: 'offer',
  ack: 'ack',
  nak: 'nak',
  inform: 'ack',
  'boot-server': 'ack',
} as const satisfies Record<ReplyKind, RecordedReply>;
