// Records each packet and each decision: a note for the trail, and one log line. Repeats of a noisy machine are logged at
// debug level only.

import type { ClientFacts } from '../../boot/client-facts.ts';
import type { DhcpMessage } from '../../codecs/dhcp4/message.ts';
import type { DhcpMessageType } from '../../codecs/dhcp4/options.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine } from '../../domain/machine.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import { trailNote } from '../../trail/trail.ts';
import type { DhcpDeps } from './dhcp-deps.ts';
import { Recent } from './recent.ts';

/** A parsed packet and the network it belongs to. */
export interface ReceivedRequest {
  readonly message: DhcpMessage;
  readonly type: DhcpMessageType;
  readonly facts: ClientFacts;
  readonly mac: Mac;
  readonly network: SiteNetwork;
  readonly machine: Machine | null;
  /** The machine whose history this belongs to: the same, or a removed one. */
  readonly about: Machine | null;
}

/** `offer`, `ack`, `nak`, or `silent`: no reply was sent. */
export type RecordedReply = 'offer' | 'ack' | 'nak' | 'silent';

export interface ReplyDetails {
  readonly because: string;
  readonly words: string;
  readonly address?: Ipv4 | undefined;
  readonly seconds?: number | undefined;
  readonly file?: string;
  /** Why a firmware that looks for a boot file is offered none. */
  readonly noFile?: string | undefined;
  /** The same reply to the same request. */
  readonly repeat?: boolean;
}

type ReplyData = Omit<EventData<'dhcp.offer'>, 'mac'>;

/** "No reply" for the same reason to the same machine is logged once in this time. */
const QUIET_MS = MINUTE;
/** Firmware without a reply retransmits the same DISCOVER, EDK2 after 4, 12 and 28 seconds: it is still the same boot. */
const REPEATED_WITHIN_MS = MINUTE;

export class ExchangeRecord {
  readonly #deps: Pick<DhcpDeps, 'clock' | 'logger' | 'trail'>;
  readonly #silences = new Recent(QUIET_MS);
  readonly #oddities = new Recent(QUIET_MS);
  readonly #withoutFile = new Recent(QUIET_MS);
  readonly #boots = new Recent(REPEATED_WITHIN_MS);

  constructor(deps: Pick<DhcpDeps, 'clock' | 'logger' | 'trail'>) {
    this.#deps = deps;
  }

  request({ message, type, facts, mac, network, about }: ReceivedRequest): void {
    const { program, architecture, relay, oddities } = facts;
    const xid = xidText(message);
    const isBoot = type === 'discover' && (program === 'firmware-pxe' || program === 'firmware-http');
    const beginsAttempt = isBoot && this.#boots.isNew(`${mac} ${xid}`, this.#now());
    // Message types that only servers send would read as replies of ours.
    if (type === 'offer' || type === 'ack' || type === 'nak') return;
    this.#deps.trail.note({
      kind: `dhcp.${type}`,
      mac,
      machine: about?.id ?? null,
      beginsAttempt,
      data: {
        xid,
        network: network.name,
        program,
        architecture: architecture?.code ?? null,
        secs: message.secs,
        relay,
        oddities,
      },
    });
    if (oddities.length > 0 && this.#oddities.isNew(mac, this.#now())) {
      this.#deps.logger.info({ mac, xid, oddities }, 'dhcp: a request with oddities');
    }
  }

  reply(request: ReceivedRequest, sent: RecordedReply, details: ReplyDetails): void {
    const { message, mac, network, about } = request;
    const { because, words, address, seconds, file, noFile, repeat = false } = details;
    const xid = xidText(message);
    const data: { -readonly [Key in keyof ReplyData]: ReplyData[Key] } = { xid, network: network.name, because };
    if (address !== undefined) data.address = address;
    if (seconds !== undefined) data.seconds = seconds;
    if (file !== undefined && file !== '') data.file = file;
    if (noFile !== undefined) data.no_file = noFile;
    const machine = about?.id ?? null;
    if (sent === 'silent') this.#deps.trail.note({ kind: 'dhcp.silent', mac, machine, data: { ...data, words } });
    else this.#deps.trail.note({ kind: `dhcp.${sent}`, mac, machine, data });
    const node = about?.spec.hostname;
    const fields = { mac, xid, network: network.name, node, address, file, because };
    // An offer is half of an exchange; the ACK is logged.
    if (noFile !== undefined && this.#withoutFile.isNew(`${mac} ${noFile}`, this.#now())) {
      this.#deps.logger.warn({ mac, xid, network: network.name, node }, `dhcp: no boot file is offered: ${noFile}`);
    }
    const isMinor = sent === 'offer' || repeat || (sent === 'silent' && !this.#isNewSilence(mac, because));
    if (isMinor) this.#deps.logger.debug(fields, `dhcp ${sent} to ${request.type}: ${words}`);
    else this.#deps.logger.info(fields, `dhcp ${sent} to ${request.type}: ${words}`);
  }

  /** A packet without a reply and without a network: malformed, from an unknown network, or not from Ethernet. */
  ignored(reason: string, words: string, fields: { mac: Mac | null; interface: string; from: Ipv4 }): void {
    const { mac, from } = fields;
    this.#deps.trail.note({
      kind: 'dhcp.silent',
      mac,
      machine: null,
      data: { because: reason, words, from, interface: fields.interface },
    });
    const line = { ...fields, because: reason };
    if (this.#isNewSilence(mac ?? from, reason)) this.#deps.logger.info(line, `dhcp silent: ${words}`);
    else this.#deps.logger.debug(line, `dhcp silent: ${words}`);
  }

  note<Kind extends 'dhcp.conflict' | 'dhcp.loop'>(
    kind: Kind,
    request: ReceivedRequest,
    data: Omit<EventData<Kind>, 'mac' | 'network'>,
    words: string,
  ): void {
    const { mac, about, network } = request;
    const frame = { mac, machine: about?.id ?? null, siteWide: true };
    const details = { network: network.name, ...data } as unknown as Omit<EventData<Kind>, 'mac'>;
    this.#deps.trail.note(trailNote(frame, kind, details));
    this.#deps.logger.warn({ mac, network: network.name, node: about?.spec.hostname, ...data }, words);
  }

  #isNewSilence(key: string, because: string): boolean {
    return this.#silences.isNew(`${key} ${because}`, this.#now());
  }

  #now(): Instant {
    return this.#deps.clock.now();
  }
}

export const xidText = (message: DhcpMessage): string => message.xid.toString(16).padStart(8, '0');
