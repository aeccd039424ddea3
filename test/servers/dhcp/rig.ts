// A DHCP server in memory: fake clock, sockets and store, and clients for it.

import { BootResolver } from '../../../appliance/boot/boot-resolver.ts';
import { encodeDhcp } from '../../../appliance/codecs/dhcp4/encode.ts';
import type { DhcpMessage } from '../../../appliance/codecs/dhcp4/message.ts';
import { writeIpv4, writeText, writeU16 } from '../../../appliance/codecs/dhcp4/option-values.ts';
import { type DhcpMessageType, OPTION, writeMessageType } from '../../../appliance/codecs/dhcp4/options.ts';
import type { Ipv4 } from '../../../appliance/domain/ipv4.ts';
import type { Lease } from '../../../appliance/domain/lease.ts';
import type { Mac } from '../../../appliance/domain/mac.ts';
import type { Machine } from '../../../appliance/domain/machine.ts';
import type { SiteNetwork } from '../../../appliance/domain/network.ts';
import { Fleet } from '../../../appliance/inventory/fleet.ts';
import type { UdpPeer } from '../../../appliance/net/udp/udp-socket.ts';
import type { DhcpSettings } from '../../../appliance/servers/dhcp/dhcp-deps.ts';
import { DhcpServer } from '../../../appliance/servers/dhcp/dhcp-server.ts';
import type { TrailNote } from '../../../appliance/trail/trail.ts';
import { NOW } from '../../boot/boot-fixtures.ts';
import { ip, NETWORK, NODE } from '../../boot/leases/lease-fixtures.ts';
import { plainMessage } from '../../codecs/dhcp4/dhcp-messages.ts';
import { checkedEvent } from '../../domain/events/checked-event.ts';
import { FakeClock } from '../../machines/fake-clock.ts';
import { MemoryEcho } from './memory-echo.ts';
import { MemoryUdp } from './memory-udp.ts';

export const NOWHERE: UdpPeer = { address: ip('0.0.0.0'), port: 68 };

/** A store whose commits can be delayed or made to fail. */
export class FakeLeaseStore {
  readonly commits: (readonly Lease[])[] = [];
  stored: Lease[] = [];
  failure: Error | null = null;
  gate: Promise<void> | null = null;

  async leases(): Promise<Lease[]> {
    return this.stored;
  }

  async commitLeases(leases: readonly Lease[]): Promise<void> {
    await this.gate;
    if (this.failure) throw this.failure;
    this.commits.push(leases);
  }
}

interface RigOptions {
  readonly networks?: readonly SiteNetwork[];
  readonly machines?: readonly Machine[];
  readonly settings?: Partial<DhcpSettings>;
  readonly stored?: Lease[];
  /** The boot resolver; default: one over the rig's own fleet. */
  readonly resolver?: BootResolver;
  /** Which loaders the appliance has; default: all. */
  readonly available?: (file: string) => boolean;
}

export class Rig {
  readonly clock = new FakeClock(NOW);
  readonly udp = new MemoryUdp();
  readonly echo = new MemoryEcho();
  readonly store = new FakeLeaseStore();
  readonly fleet = new Fleet();
  readonly notes: TrailNote[] = [];
  readonly lines: { level: string; message: string }[] = [];
  readonly findings: string[] = [];
  readonly unknown: string[] = [];
  readonly hinted: string[] = [];
  neighbours = '';
  interfaceIndex: number | null = 7;
  readonly server: DhcpServer;

  constructor({
    networks = [{ ...NETWORK, unknown: 'inspect' }],
    machines = [NODE],
    settings = {},
    stored = [],
    resolver,
    available = () => true,
  }: RigOptions = {}) {
    this.store.stored = stored;
    this.declare(networks, machines);
    const line = (level: string) => (_: object, message: string) => void this.lines.push({ level, message });
    this.server = new DhcpServer({
      clock: this.clock,
      logger: { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') },
      settings: {
        bootPort: 8080,
        leaseTimes: { bootSeconds: 600, osSeconds: 3600 },
        conflictProbe: false,
        ignoreOtherServers: true,
        ...settings,
      },
      fleet: this.fleet,
      resolver: resolver ?? new BootResolver(this.fleet, () => this.clock.now(), { available }),
      store: this.store,
      trail: { note: (note) => void this.notes.push(checkedEvent(note)) },
      openUdp: this.udp.open,
      openEcho: this.echo.open,
      neighbours: async () => this.neighbours,
      interfaceIndex: () => this.interfaceIndex,
      randomBytes: (count) => new Uint8Array(count).fill(0xee),
      onFinding: (machine, finding) => void this.findings.push(`${machine.spec.hostname} ${finding.kind}`),
      onIpxe: (device) => void this.hinted.push(device),
      onUnknown: (facts, network) => void this.unknown.push(`${facts.mac} on ${network.name}`),
    });
  }

  declare(networks: readonly SiteNetwork[], machines: readonly Machine[] = [NODE]): void {
    const nothing = { sites: [], skus: [], profiles: [], clusters: [], roce: [], sources: new Map() };
    this.fleet.replace({ ...nothing, networks, machines, declaredRevision: 1, revision: 1 });
  }

  /** Note kinds, with the reason where there is one. */
  get story(): string[] {
    return this.notes.map(({ kind, data }) => {
      const because = (data as { because?: string }).because;
      return because === undefined ? kind : `${kind} ${because}`;
    });
  }

  /** Delivers a packet of a client. */
  receives(packet: DhcpMessage, { at = 'eth1:67', from = NOWHERE }: { at?: string; from?: UdpPeer } = {}): void {
    this.udp.deliver(at, encodeDhcp(packet, { maxBytes: 1472 }).bytes, from);
  }
}

interface PacketFields {
  readonly requested?: Ipv4;
  readonly server?: Ipv4;
  readonly ciaddr?: Ipv4;
  readonly giaddr?: Ipv4;
  readonly xid?: number;
  readonly options?: readonly (readonly [number, Uint8Array])[];
}

/** The request of an operating system. */
export function packet(type: DhcpMessageType, mac: Mac, fields: PacketFields = {}): DhcpMessage {
  const chaddr = new Uint8Array(16);
  chaddr.set(Buffer.from(mac.replaceAll(':', ''), 'hex'));
  const options = new Map<number, Uint8Array>([[OPTION.messageType, writeMessageType(type)]]);
  if (fields.requested) options.set(OPTION.requestedAddress, writeIpv4(fields.requested));
  if (fields.server) options.set(OPTION.serverIdentifier, writeIpv4(fields.server));
  for (const [code, value] of fields.options ?? []) options.set(code, value);
  const unset = ip('0.0.0.0');
  return {
    ...plainMessage,
    op: 'request',
    xid: fields.xid ?? 7,
    ciaddr: fields.ciaddr ?? unset,
    yiaddr: unset,
    siaddr: unset,
    giaddr: fields.giaddr ?? unset,
    file: '',
    chaddr,
    options,
  };
}

/** The options of UEFI firmware. */
export const FIRMWARE: readonly (readonly [number, Uint8Array])[] = [
  [OPTION.vendorClass, writeText('PXEClient:Arch:00007:UNDI:003000')],
  [OPTION.clientArchitecture, writeU16(7)],
];

export const HTTP_FIRMWARE: readonly (readonly [number, Uint8Array])[] = [
  [OPTION.vendorClass, writeText('HTTPClient:Arch:00016:UNDI:003000')],
  [OPTION.clientArchitecture, writeU16(16)],
];

/** The options of the iPXE that the same machine starts next. */
export const IPXE: readonly (readonly [number, Uint8Array])[] = [...FIRMWARE, [OPTION.userClass, writeText('iPXE')]];
