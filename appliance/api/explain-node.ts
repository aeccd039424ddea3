// Explains the boot decision for a node or an unknown machine: which interface it boots from, on which network.

import type { BootResolver } from '../boot/boot-resolver.ts';
import { type Explanation, explainBoot } from '../boot/explain.ts';
import { armedKind, type Supposed, supposeMachine } from '../boot/supposition.ts';
import type { ClientArchitecture } from '../domain/architecture.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Instant } from '../domain/instant.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import { type Mac, parseMac } from '../domain/mac.ts';
import { type Machine, parseMachineId } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';
import { shown } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import { everKnownAs } from './find-node.ts';

interface ExplainWishes extends Supposed {
  readonly arch: ClientArchitecture | null;
  readonly via: Ipv4 | null;
}

export interface ExplainEdge {
  readonly fleet: Fleet;
  readonly bootPort: number;
  readonly now: Instant;
  /** The resolver that the servers use. */
  readonly resolver: Pick<BootResolver, 'resolve'>;
  /** The assumptions of the resolver, for the reader. */
  readonly assumed?: readonly string[];
}

export function explainNode(edge: ExplainEdge, reference: string, wishes: ExplainWishes): Explanation {
  const { fleet, bootPort, now, resolver } = edge;
  const { arch, via, state, armed } = wishes;
  const id = parseMachineId(reference);
  const actual = (id.ok ? fleet.machineById(id.value) : null) ?? everKnownAs({ fleet }, reference);
  const mac = macFor(fleet, actual, reference);
  const network = via === null ? networkFor(fleet, actual, mac) : (fleet.networkOf(via) ?? null);
  requireArmable(actual, wishes);
  const suppose = (machine: Machine) => supposeMachine(machine, { state, armed }, mac, now);
  const supposed = actual && suppose(actual);
  const unknown = actual === null && state !== null;
  return explainBoot({
    mac,
    machine: supposed?.machine ?? null,
    resolve: (facts) => resolver.resolve(facts, network, (machine) => suppose(machine).machine),
    site: (network && fleet.site(network.site)) ?? null,
    server: network?.server ? { address: network.server, bootPort } : null,
    arch,
    via,
    supposed: state !== null && actual !== null && state !== actual.lifecycle.state,
    assumed: [
      ...(supposed?.notes ?? []),
      ...(unknown ? [`This machine is unknown, so it cannot be explained as ${state}.`] : []),
      ...(edge.assumed ?? []),
    ],
  });
}

function requireArmable(actual: Machine | null, { state, armed }: Supposed): void {
  const supposed = state ?? actual?.lifecycle.state ?? null;
  if (armed === null || (actual !== null && supposed !== null && armedKind(supposed) !== null)) return;
  throw new ColdironError(
    'invalid_request',
    'armed: only a node in state deploying or releasing is armed or not; name one of them as its state',
  );
}

/** The named interface, or else the one on a network that machines boot from. */
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
  throw new ColdironError(
    'conflict',
    `${machine.spec.hostname} has no MAC address, so it cannot boot from this appliance`,
  );
}

function networkFor(fleet: Fleet, machine: Machine | null, mac: Mac): SiteNetwork | null {
  const card = machine?.spec.interfaces.find((candidate) => candidate.mac === mac);
  if (card) return fleet.network(card.network) ?? null;
  const [only, ...others] = [...fleet.networks()].filter((network) => network.server !== null);
  if (only && others.length === 0) return only;
  throw new ColdironError(
    'invalid_request',
    `via: ${mac} is unknown; name the relay or server address of its requests, which determines its network`,
  );
}
