// At which addresses machines find a server that listens somewhere.

import { parseIpv4 } from '../../domain/ipv4.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { BootEndpoint } from './expected-fetches.ts';

export interface Place {
  readonly address: string;
  readonly port: number;
}

interface Around {
  readonly fleet: Pick<Fleet, 'networks' | 'networkOf'>;
  /** Of the cards of this machine. */
  readonly ownAddresses: ReadonlySet<string>;
}

/** Where it listens on all addresses: those that the networks send machines to, as far as they are this machine's own. */
export function doorsAt({ address, port }: Place, around: Around): readonly BootEndpoint[] {
  const named = address === '0.0.0.0' ? namedAddresses(around) : [address];
  return (named.length === 0 ? ['127.0.0.1'] : named).map((at) => ({
    address: at,
    port,
    server: serverAt(around.fleet, at),
  }));
}

/** The same, and whatever else the networks tell machines that boot here: a server that listens elsewhere is not found there. */
export function advertisedDoors(place: Place, around: Around): readonly BootEndpoint[] {
  const doors = doorsAt(place, around);
  const elsewhere = namedAddresses(around).filter((named) => doors.every(({ address }) => address !== named));
  return [...doors, ...elsewhere.flatMap((address) => doorsAt({ ...place, address }, around))];
}

function namedAddresses({ fleet, ownAddresses }: Around): string[] {
  const served = [...fleet.networks()].flatMap(({ server, dhcp }) => (server === null || dhcp === 'off' ? [] : server));
  return [...new Set(served)].filter((address) => ownAddresses.has(address));
}

/** The texts for whoever asks from this address are made for its network. */
function serverAt(fleet: Around['fleet'], address: string): string | null {
  const parsed = parseIpv4(address);
  return (parsed.ok ? fleet.networkOf(parsed.value)?.server : null) ?? null;
}
