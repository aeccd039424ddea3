// Dependencies of the DHCP server: clock, logger, settings, and callbacks.

import type { BootResolver } from '../../boot/boot-resolver.ts';
import type { ClientFacts } from '../../boot/client-facts.ts';
import type { Finding } from '../../boot/decide-boot.ts';
import type { LeaseTimes } from '../../boot/leases/decide-lease.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { OpenEcho } from '../../net/udp/echo-socket.ts';
import type { OpenUdp } from '../../net/udp/udp-socket.ts';
import type { Store } from '../../store/store.ts';
import type { Trail } from '../../trail/trail.ts';

export interface DhcpClock {
  now(): Instant;
  setTimer(delay: number, run: () => void): { readonly cancel: () => void };
}

export interface Log {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export interface DhcpSettings {
  /** Port of the HTTP boot server. */
  readonly bootPort: number;
  readonly leaseTimes: LeaseTimes;
  /** Probe a pool address for another host before its first offer. */
  readonly conflictProbe: boolean;
  /** Answer as the authoritative server even if another DHCP server answers on the network. */
  readonly ignoreOtherServers: boolean;
}

export const DEFAULT_LEASE_TIMES: LeaseTimes = { bootSeconds: 600, osSeconds: 3600 };

export interface DhcpDeps {
  readonly clock: DhcpClock;
  readonly logger: Log;
  readonly settings: DhcpSettings;
  readonly fleet: Fleet;
  readonly resolver: BootResolver;
  readonly store: Pick<Store, 'leases' | 'commitLeases'>;
  readonly trail: Trail;
  readonly openUdp: OpenUdp;
  readonly openEcho: OpenEcho;
  /** The kernel's neighbour table: /proc/net/arp as text. */
  readonly neighbours: () => Promise<string>;
  /** The kernel's index of an interface; null: no interface has this name. A recreated interface has a new index. */
  readonly interfaceIndex: (device: string) => number | null;
  readonly randomBytes: (count: number) => Uint8Array;
  /** The decision found a discrepancy that needs action, such as a chassis other than the declared one. */
  readonly onFinding: (machine: Machine, finding: Finding) => void;
  /** An iPXE client on this interface got a reply, and may now wait for an IPv6 router. */
  readonly onIpxe: (device: string) => void;
  /** A machine that is not in the inventory asks to boot. */
  readonly onUnknown: (facts: ClientFacts, network: SiteNetwork) => void;
}
