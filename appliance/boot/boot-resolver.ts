// The one place where the servers and `explain` resolve a request: which machine, which network, and what the decision is.
// It holds what this appliance has (loaders, images, orders), so that all callers decide from the same inputs.

import type { Profile } from '../domain/catalogue.ts';
import type { Instant } from '../domain/instant.ts';
import type { IntentId } from '../domain/intent.ts';
import type { Machine } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { ClientFacts } from './client-facts.ts';
import { type BootDecision, decideBoot } from './decide-boot.ts';
import type { LoaderPreferences } from './loaders.ts';
import type { Startability } from './startability.ts';

export interface ResolvedBoot {
  /** Null for a removed machine too: nothing is reserved or armed for it any more. */
  readonly machine: Machine | null;
  /** The machine that the reply and the trail name: the same, or the removed machine that had this card or chassis. */
  readonly about: Machine | null;
  readonly network: SiteNetwork | null;
  readonly profile: Profile | null;
  readonly decision: BootDecision;
}

/** What this appliance has. If omitted: everything, as for a query about a rack elsewhere. */
export interface Availability {
  readonly available?: LoaderPreferences['available'];
  readonly startability?: Startability | undefined;
}

/** Returns the machine as it would be in another state or with another intent. */
export type Supposition = (machine: Machine) => Machine;

const AS_IT_IS: Supposition = (machine) => machine;

export class BootResolver {
  readonly #fleet: Fleet;
  readonly #now: () => Instant;
  readonly #has: Availability;

  constructor(fleet: Fleet, now: () => Instant, has: Availability = {}) {
    this.#fleet = fleet;
    this.#now = now;
    this.#has = has;
  }

  /** `network`: where the request arrived, when the transport knows; otherwise it follows from the client's address. */
  resolve(facts: ClientFacts, network: SiteNetwork | null = null, suppose: Supposition = AS_IT_IS): ResolvedBoot {
    const fleet = this.#fleet;
    const known = facts.mac === null ? null : fleet.machineByMac(facts.mac);
    const removed = known !== null || facts.mac === null ? null : fleet.removedMachine(facts.mac, facts.uuid);
    const machine = known === null ? null : suppose(known);
    const about = machine ?? (removed && suppose(removed));
    const place = network ?? this.#networkOf(about, facts);
    const intended = about?.intent?.profile ?? null;
    const profile = intended === null ? null : fleet.profile(intended);
    const { available, startability } = this.#has;
    const question = { facts, network: place, profile, now: this.#now(), available, startability };
    return { machine, about, network: place, profile, decision: decideBoot({ ...question, machine: about }) };
  }

  /** After the store refused to consume this intent: the same decision, with the intent as consumed even if the fleet lags. */
  resolveWithout(intent: IntentId, facts: ClientFacts, network: SiteNetwork | null): ResolvedBoot {
    const consumedAt = this.#now();
    return this.resolve(facts, network, (machine) => {
      if (machine.intent?.id !== intent || machine.intent.consumedAt !== null) return machine;
      return { ...machine, intent: { ...machine.intent, consumedAt } };
    });
  }

  /**
   * Behind address translation, or for a query from the appliance itself, the address identifies no network; the inventory
   * still does. A relay's address names its network or none: RFC 2131 §4.3.1.
   */
  #networkOf(machine: Machine | null, { mac, address, relay }: ClientFacts): SiteNetwork | null {
    const place = address && this.#fleet.networkOf(address);
    if (place || relay !== null) return place ?? null;
    const card = machine?.spec.interfaces.find((candidate) => candidate.mac === mac);
    return card ? this.#fleet.network(card.network) : null;
  }
}
