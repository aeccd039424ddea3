// Renders a decision as a DHCP message: RFC 2131 table 3, and what PXE firmware needs in addition.
// The options are ordered by priority, for clients that accept only small messages.

import type { DhcpMessage } from '../../codecs/dhcp4/message.ts';
import {
  readU16,
  writeIpv4,
  writeIpv4List,
  writeTerminatedText,
  writeText,
  writeU32,
} from '../../codecs/dhcp4/option-values.ts';
import { OPTION, writeMessageType } from '../../codecs/dhcp4/options.ts';
import {
  bootFileWithoutDiscovery,
  PXE_SUB_OPTION,
  readPxeVendor,
  writePxeVendor,
} from '../../codecs/dhcp4/pxe-vendor.ts';
import { FILE_BYTES } from '../../codecs/dhcp4/wire.ts';
import { broadcastAddress, type Ipv4, ipv4FromNumber, netmask } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import { type BootServer, bootUrl, loaderPath } from '../boot-paths.ts';
import type { ClientFacts } from '../client-facts.ts';
import type { NextStage } from '../next-stage.ts';
import { type AnswerSetting, bootAnswer } from './boot-answers.ts';

export type DhcpReply =
  | { readonly kind: 'offer' | 'ack'; readonly address: Ipv4; readonly seconds: number }
  | { readonly kind: 'inform' | 'proxy-offer' | 'boot-server' }
  | { readonly kind: 'nak'; readonly words: string };

export interface ReplyContext {
  readonly request: DhcpMessage;
  readonly facts: ClientFacts;
  readonly machine: Machine | null;
  readonly network: SiteNetwork;
  readonly server: BootServer;
  /** Our server identifier: the server's address, or the relay's override (RFC 5107). */
  readonly serverIdentifier: Ipv4;
  readonly stage: NextStage;
  /** The result of `networkValues` for this network; omitted: computed here. */
  readonly values?: NetworkValues | undefined;
}

/** The option values that are the same in every reply on a network. */
export interface NetworkValues {
  readonly subnetMask: Uint8Array;
  readonly router: Uint8Array | null;
  readonly nameServers: Uint8Array | null;
  readonly domainName: Uint8Array | null;
  readonly broadcastAddress: Uint8Array;
}

export const networkValues = ({ prefix, gateway, dns, domain }: SiteNetwork): NetworkValues => ({
  subnetMask: writeIpv4(netmask(prefix)),
  router: gateway === null ? null : writeIpv4(gateway),
  nameServers: dns.length === 0 ? null : writeIpv4List(dns),
  domainName: domain === null ? null : writeText(domain),
  broadcastAddress: writeIpv4(broadcastAddress(prefix)),
});

type Options = Map<number, Uint8Array>;

const UNSET = ipv4FromNumber(0);

export function dhcpReply(reply: DhcpReply, context: ReplyContext): DhcpMessage {
  const { request, serverIdentifier, values = networkValues(context.network) } = context;
  const options: Options = new Map();
  options.set(OPTION.messageType, writeMessageType(TYPES[reply.kind]));
  options.set(OPTION.serverIdentifier, writeIpv4(serverIdentifier));
  const echo = (code: number): void => {
    const value = request.options.get(code);
    if (value !== undefined) options.set(code, value);
  };

  let boot: BootFields = NOTHING_TO_BOOT;
  if (reply.kind === 'nak') options.set(OPTION.errorMessage, writeText(reply.words));
  else {
    if (reply.kind === 'offer' || reply.kind === 'ack') putLease(options, reply.seconds, values);
    boot = putBoot(options, context, SETTINGS[reply.kind]);
    if (boot !== NOTHING_TO_BOOT) echo(OPTION.chassisUuid);
  }
  // RFC 6842 §3: echo the client identifier.
  echo(OPTION.clientIdentifier);
  echo(OPTION.subnetSelection);
  if (reply.kind === 'offer' || reply.kind === 'ack' || reply.kind === 'inform') {
    putSettings(options, context.machine, values);
  }
  echo(OPTION.relayAgentInformation);

  return {
    op: 'reply',
    htype: request.htype,
    hlen: request.hlen,
    // The boot ROM of the Raspberry Pi 2 and 3 rejects replies whose `hops` field is not 0.
    hops: 0,
    xid: request.xid,
    secs: 0,
    // RFC 2131 §4.3.2: a relay must broadcast a NAK, since the client may have no usable address.
    broadcast: request.broadcast || (reply.kind === 'nak' && request.giaddr !== UNSET),
    ciaddr: KEEPS_CIADDR.includes(reply.kind) ? request.ciaddr : UNSET,
    yiaddr: reply.kind === 'offer' || reply.kind === 'ack' ? reply.address : UNSET,
    siaddr: boot.nextServer,
    giaddr: request.giaddr,
    chaddr: request.chaddr,
    sname: '',
    file: boot.file,
    options,
  };
}

const TYPES = {
  offer: 'offer',
  'proxy-offer': 'offer',
  ack: 'ack',
  inform: 'ack',
  'boot-server': 'ack',
  nak: 'nak',
} as const satisfies Record<DhcpReply['kind'], string>;

const SETTINGS = {
  offer: 'lease',
  ack: 'lease',
  inform: 'lease',
  'proxy-offer': 'proxy',
  'boot-server': 'boot-server',
} as const satisfies Record<Exclude<DhcpReply['kind'], 'nak'>, AnswerSetting>;

const KEEPS_CIADDR: readonly DhcpReply['kind'][] = ['ack', 'inform', 'boot-server'];

/** RFC 2131 §4.4.5: renew at half of the lease time, rebind at seven eighths. */
function putLease(options: Options, seconds: number, { subnetMask }: NetworkValues): void {
  options.set(OPTION.leaseTime, writeU32(seconds));
  options.set(OPTION.subnetMask, subnetMask);
  options.set(OPTION.renewalTime, writeU32(Math.floor(seconds / 2)));
  options.set(OPTION.rebindingTime, writeU32(Math.floor((seconds * 7) / 8)));
}

function putSettings(options: Options, machine: Machine | null, values: NetworkValues): void {
  options.set(OPTION.subnetMask, values.subnetMask);
  if (values.router !== null) options.set(OPTION.router, values.router);
  if (values.nameServers !== null) options.set(OPTION.domainNameServer, values.nameServers);
  if (machine !== null) options.set(OPTION.hostName, writeText(machine.spec.hostname));
  if (values.domainName !== null) options.set(OPTION.domainName, values.domainName);
  options.set(OPTION.broadcastAddress, values.broadcastAddress);
}

interface BootFields {
  readonly nextServer: Ipv4;
  readonly file: string;
}

const NOTHING_TO_BOOT: BootFields = { nextServer: UNSET, file: '' };
/** 175.0xb0, one byte, true; terminated with 255 as iPXE writes it. */
const NO_PXEDHCP = Uint8Array.of(0xb0, 1, 1, 0xff);
const WITHOUT_DISCOVERY = bootFileWithoutDiscovery();

/**
 * In the header as well as in options: shim derives the next file from the header alone, U-Boot reads nothing else, and HTTP
 * firmware reads only the option.
 */
function putBoot(options: Options, context: ReplyContext, setting: AnswerSetting): BootFields {
  const { facts, stage, server, machine } = context;
  const answer = bootAnswer(facts, stage, setting, machine?.spec.plainPxe);
  const name = answer === null ? null : nameOf(stage, server);
  if (answer === null || name === null) return NOTHING_TO_BOOT;
  if (answer.vendorClass !== null) options.set(OPTION.vendorClass, writeText(answer.vendorClass));
  const vendorSpecific = setting === 'boot-server' ? bootItemOf(context.request) : null;
  if (vendorSpecific !== null) options.set(OPTION.vendorSpecific, vendorSpecific);
  else if (answer.withoutDiscovery) options.set(OPTION.vendorSpecific, WITHOUT_DISCOVERY);
  if (answer.withoutProxyWait) options.set(OPTION.ipxe, NO_PXEDHCP);
  options.set(OPTION.tftpServerName, writeTerminatedText(server.address));
  options.set(OPTION.bootFileName, writeTerminatedText(name));
  return { nextServer: server.address, file: name.length < FILE_BYTES ? name : '' };
}

/** The client's choice from another server's menu. iPXE and PXE ROMs drop a reply that does not echo it (PXE 2.1 §2.2.4). */
function bootItemOf({ options }: DhcpMessage): Uint8Array | null {
  const vendor = options.get(OPTION.vendorSpecific);
  const item = vendor === undefined ? undefined : readPxeVendor(vendor).values.get(PXE_SUB_OPTION.bootItem);
  return item === undefined ? null : writePxeVendor(new Map([[PXE_SUB_OPTION.bootItem, item]]));
}

function nameOf(stage: NextStage, server: BootServer): string | null {
  switch (stage.kind) {
    case 'loader':
      return stage.transport === 'tftp' ? stage.file : bootUrl(server, loaderPath(stage.file));
    case 'script':
      return bootUrl(server, stage.path);
    case 'nothing':
    case 'requested-file':
      return null;
  }
}

/** RFC 2131 §2: every client accepts an IP datagram of 576 bytes; IP and UDP headers are 28 of them. */
const SMALLEST_DATAGRAM = 576;
const HEADERS = 28;
/** EDK2 drops longer ones, although its REQUEST announces 65,280. */
const LARGEST_PAYLOAD = 1472;

/** The largest payload to send; option 57 counts the whole datagram. */
export function replyLimit(request: DhcpMessage): number {
  const option57 = request.options.get(OPTION.maxMessageSize);
  const size = option57 === undefined ? null : readU16(option57);
  const datagram = size?.ok ? Math.max(size.value, SMALLEST_DATAGRAM) : SMALLEST_DATAGRAM;
  return Math.min(datagram - HEADERS, LARGEST_PAYLOAD);
}
