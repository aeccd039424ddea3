// What is told of each packet and each decision: notes for the trail, and one line for the log. A noisy machine's repeats
// go to the log at debug level only.

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

/** A packet that could be read, and where it belongs. */
export interface Asked {
  readonly message: DhcpMessage;
  readonly type: DhcpMessageType;
  readonly facts: ClientFacts;
  readonly mac: Mac;
  readonly network: SiteNetwork;
  readonly machine: Machine | null;
  /** Whom the story is about: the same, or a removed one. */
  readonly about: Machine | null;
}

/** `offer`, `ack`, `nak`, or what was noted without an answer. */
export type Told = 'offer' | 'ack' | 'nak' | 'silent';

export interface ToldDetails {
  readonly because: string;
  readonly words: string;
  readonly address?: Ipv4 | undefined;
  readonly seconds?: number | undefined;
  readonly file?: string;
  /** The same answer to the same question. */
  readonly repeat?: boolean;
}

type ReplyData = Omit<EventData<'dhcp.offer'>, 'mac'>;

/** The same silence towards the same machine is worth one line in this time. */
const QUIET_MS = MINUTE;
/** Firmware that gets no answer says the same DISCOVER again, EDK2 after 4, 12 and 28 seconds: it is still the same boot. */
const REPEATED_WITHIN_MS = MINUTE;

export class ExchangeRecord {
  readonly #around: Pick<DhcpDeps, 'clock' | 'logger' | 'trail'>;
  readonly #silences = new Recent(QUIET_MS);
  readonly #oddities = new Recent(QUIET_MS);
  readonly #boots = new Recent(REPEATED_WITHIN_MS);

  constructor(around: Pick<DhcpDeps, 'clock' | 'logger' | 'trail'>) {
    this.#around = around;
  }

  asked({ message, type, facts, mac, network, about }: Asked): void {
    const { program, architecture, relay, oddities } = facts;
    const xid = xidText(message);
    const isBoot = type === 'discover' && (program === 'firmware-pxe' || program === 'firmware-http');
    const beginsAttempt = isBoot && this.#boots.isNew(`${mac} ${xid}`, this.#now());
    // What only a server sends would read as an answer of ours.
    if (type === 'offer' || type === 'ack' || type === 'nak') return;
    this.#around.trail.note({
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
      this.#around.logger.info({ mac, xid, oddities }, 'dhcp: an odd request');
    }
  }

  told(asked: Asked, told: Told, details: ToldDetails): void {
    const { message, mac, network, about } = asked;
    const { because, words, address, seconds, file, repeat = false } = details;
    const xid = xidText(message);
    const data: { -readonly [Key in keyof ReplyData]: ReplyData[Key] } = { xid, network: network.name, because };
    if (address !== undefined) data.address = address;
    if (seconds !== undefined) data.seconds = seconds;
    if (file !== undefined && file !== '') data.file = file;
    const machine = about?.id ?? null;
    if (told === 'silent') this.#around.trail.note({ kind: 'dhcp.silent', mac, machine, data: { ...data, words } });
    else this.#around.trail.note({ kind: `dhcp.${told}`, mac, machine, data });
    const node = about?.spec.hostname;
    const fields = { mac, xid, network: network.name, node, address, file, because };
    // An offer is half of an exchange; its other half is logged.
    const quiet = told === 'offer' || repeat || (told === 'silent' && !this.#isNewSilence(mac, because));
    if (quiet) this.#around.logger.debug(fields, `dhcp ${told} to ${asked.type}: ${words}`);
    else this.#around.logger.info(fields, `dhcp ${told} to ${asked.type}: ${words}`);
  }

  /** A packet that belongs nowhere: unreadable, of no network, or from no Ethernet card. */
  passedOver(reason: string, words: string, fields: { mac: Mac | null; interface: string; from: Ipv4 }): void {
    const { mac, from } = fields;
    this.#around.trail.note({
      kind: 'dhcp.silent',
      mac,
      machine: null,
      data: { because: reason, words, from, interface: fields.interface },
    });
    const line = { ...fields, because: reason };
    if (this.#isNewSilence(mac ?? from, reason)) this.#around.logger.info(line, `dhcp silent: ${words}`);
    else this.#around.logger.debug(line, `dhcp silent: ${words}`);
  }

  note<Kind extends 'dhcp.conflict' | 'dhcp.loop'>(
    kind: Kind,
    asked: Asked,
    data: Omit<EventData<Kind>, 'mac' | 'network'>,
    words: string,
  ): void {
    const { mac, about, network } = asked;
    const frame = { mac, machine: about?.id ?? null, siteWide: true };
    const told = { network: network.name, ...data } as unknown as Omit<EventData<Kind>, 'mac'>;
    this.#around.trail.note(trailNote(frame, kind, told));
    this.#around.logger.warn({ mac, network: network.name, node: about?.spec.hostname, ...data }, words);
  }

  #isNewSilence(who: string, because: string): boolean {
    return this.#silences.isNew(`${who} ${because}`, this.#now());
  }

  #now(): Instant {
    return this.#around.clock.now();
  }
}

export const xidText = (message: DhcpMessage): string => message.xid.toString(16).padStart(8, '0');
