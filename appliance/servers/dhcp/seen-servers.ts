// Other DHCP servers that were seen lately, each with the hardware address that answers for it.

import { type Instant, MINUTE } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Mac } from '../../domain/mac.ts';

export interface SeenServer {
  readonly network: string;
  readonly interface: string;
  readonly address: Ipv4;
  readonly how: string;
  /** Null: it is not in the neighbour table. */
  readonly mac: Mac | null;
}

/** A server that leases addresses is heard again within this time, if machines boot. */
const FORGOTTEN_AFTER = 10 * MINUTE;
/** Anybody on the link can invent servers. */
const MOST = 64;

export class SeenServers {
  readonly #seen = new Map<string, { server: SeenServer; at: Instant }>();

  /** Returns whether its hardware address is still unknown. */
  saw(server: Omit<SeenServer, 'mac'>, at: Instant): boolean {
    const key = keyOf(server);
    const known = this.#seen.get(key);
    if (!known && this.#seen.size >= MOST) {
      for (const oldest of this.#seen.keys()) {
        this.#seen.delete(oldest);
        break;
      }
    }
    this.#seen.delete(key);
    this.#seen.set(key, { server: { ...server, mac: known?.server.mac ?? null }, at });
    return !known?.server.mac;
  }

  answersFrom(server: Pick<SeenServer, 'network' | 'address'>, mac: Mac): void {
    const known = this.#seen.get(keyOf(server));
    if (known) known.server = { ...known.server, mac };
  }

  list(now: Instant): readonly SeenServer[] {
    return [...this.#seen.values()].filter(({ at }) => now - at < FORGOTTEN_AFTER).map(({ server }) => server);
  }
}

const keyOf = ({ network, address }: Pick<SeenServer, 'network' | 'address'>): string => `${network} ${address}`;
