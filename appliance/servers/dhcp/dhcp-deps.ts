// What the DHCP server is given: time, a place for log lines, settings, and whom to tell.

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

export interface Clock {
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
  /** Where the boot scripts and files are served over HTTP. */
  readonly bootPort: number;
  readonly leaseTimes: LeaseTimes;
  /** Look for a stranger on an address of the pool before it is first offered. */
  readonly conflictProbe: boolean;
  /** Answer as the authority even where another DHCP server does. */
  readonly ignoreOtherServers: boolean;
}

export const DEFAULT_LEASE_TIMES: LeaseTimes = { bootSeconds: 600, osSeconds: 3600 };

export interface DhcpDeps {
  readonly clock: Clock;
  readonly logger: Log;
  readonly settings: DhcpSettings;
  readonly fleet: Fleet;
  readonly resolver: BootResolver;
  readonly store: Pick<Store, 'leases' | 'commitLeases'>;
  readonly trail: Trail;
  readonly openUdp: OpenUdp;
  readonly openEcho: OpenEcho;
  /** The kernel's table of neighbours: /proc/net/arp as text. */
  readonly neighbours: () => Promise<string>;
  /** The kernel's number of an interface; null: there is none of this name. One that is made anew has another. */
  readonly interfaceIndex: (device: string) => number | null;
  readonly randomBytes: (count: number) => Uint8Array;
  /** The decision found something that has to be acted upon, such as another chassis than the declared one. */
  readonly onFinding: (machine: Machine, finding: Finding) => void;
  /** An iPXE on this interface was answered, and may now wait for an IPv6 router. */
  readonly onIpxe: (device: string) => void;
  /** A machine that nobody has declared asks to boot. */
  readonly onUnknown: (facts: ClientFacts, network: SiteNetwork) => void;
}
