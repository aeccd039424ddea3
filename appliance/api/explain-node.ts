// Asks the boot decision about a node, or about a machine that nobody knows: which card it boots from, on which network.

import { type Explanation, explainBoot } from '../boot/explain.ts';
import type { ClientArchitecture } from '../domain/architecture.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Instant } from '../domain/instant.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { LifecycleState } from '../domain/lifecycle.ts';
import { type Mac, parseMac } from '../domain/mac.ts';
import { type Machine, parseMachineId } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { shown } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { everKnownAs } from './find-node.ts';

interface Supposition {
  readonly arch: ClientArchitecture | null;
  readonly via: Ipv4 | null;
  readonly asState: LifecycleState | null;
}

export interface ExplainEdge {
  readonly fleet: Fleet;
  readonly bootPort: number;
  readonly now: Instant;
  /** Left out where no appliance is asked: then every loader is thought to be there. */
  readonly hasLoader?: (file: string) => boolean;
}

export function explainNode(edge: ExplainEdge, reference: string, supposed: Supposition): Explanation {
  const { fleet, bootPort, now, hasLoader } = edge;
  const id = parseMachineId(reference);
  const machine = (id.ok ? fleet.machineById(id.value) : null) ?? everKnownAs({ fleet }, reference);
  const mac = macFor(fleet, machine, reference);
  const network = supposed.via === null ? networkFor(fleet, machine, mac) : (fleet.networkOf(supposed.via) ?? null);
  const intended = machine?.intent?.profile ?? null;
  return explainBoot({
    machine,
    mac,
    network,
    site: (network && fleet.site(network.site)) ?? null,
    profile: (intended && fleet.profile(intended)) ?? null,
    server: network?.server ? { address: network.server, bootPort } : null,
    ...supposed,
    now,
    available: hasLoader,
  });
}

/** The card that was named, or else the one on a network that machines boot from. */
function macFor(fleet: Fleet, machine: Machine | null, reference: string): Mac {
  const named = parseMac(reference);
  if (machine === null) {
    if (named.ok) return named.value;
    throw new ColdironError('not_found', `no node is called ${shown(reference)}, and it is not a MAC address`);
  }
  const cards = machine.spec.interfaces.filter((card) => card.mac !== null);
  const booting = cards.find((card) => fleet.network(card.network)?.server) ?? cards[0];
  const mac = cards.find((card) => named.ok && card.mac === named.value)?.mac ?? booting?.mac;
  if (mac) return mac;
  throw new ColdironError('conflict', `${machine.spec.hostname} has no MAC address, so it boots nothing from us`);
}

function networkFor(fleet: Fleet, machine: Machine | null, mac: Mac): SiteNetwork | null {
  const card = machine?.spec.interfaces.find((candidate) => candidate.mac === mac);
  if (card) return fleet.network(card.network) ?? null;
  const [only, ...others] = [...fleet.networks()].filter((network) => network.server !== null);
  if (only && others.length === 0) return only;
  throw new ColdironError(
    'invalid_request',
    `via: nobody knows ${mac}; say through which relay or server address it asks, so that its network is known`,
  );
}
