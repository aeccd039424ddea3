// The one place where the servers ask: who is this, on which network, and what does the decision say? They render the answer.

import type { Profile } from '../domain/catalogue.ts';
import type { Instant } from '../domain/instant.ts';
import type { Machine } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { ClientFacts } from './client-facts.ts';
import { type BootDecision, decideBoot } from './decide-boot.ts';
import type { LoaderWishes } from './loaders.ts';

export interface ResolvedBoot {
  /** Null for a removed one too: nothing is reserved or armed for it any more. */
  readonly machine: Machine | null;
  /** Whom the answer and the story are about: the same, or the one that had this card or chassis until it was removed. */
  readonly about: Machine | null;
  readonly network: SiteNetwork | null;
  readonly profile: Profile | null;
  readonly decision: BootDecision;
}

export class BootResolver {
  readonly #fleet: Fleet;
  readonly #now: () => Instant;
  readonly #available: LoaderWishes['available'];

  /** `available`: which loaders this appliance has; left out, all of them. */
  constructor(fleet: Fleet, now: () => Instant, available?: LoaderWishes['available']) {
    this.#fleet = fleet;
    this.#now = now;
    this.#available = available;
  }

  /** `network`: where the request came in, when the transport knows; otherwise the client's address tells. */
  resolve(facts: ClientFacts, network: SiteNetwork | null = null): ResolvedBoot {
    const fleet = this.#fleet;
    const machine = facts.mac === null ? null : fleet.machineByMac(facts.mac);
    const about = machine ?? (facts.mac === null ? null : fleet.removedMachine(facts.mac, facts.uuid));
    const place = network ?? (facts.address && fleet.networkOf(facts.address)) ?? this.#declaredNetwork(about, facts);
    const intended = machine?.intent?.profile ?? null;
    const profile = intended === null ? null : fleet.profile(intended);
    const question = { facts, network: place, profile, now: this.#now(), available: this.#available };
    return { machine, about, network: place, profile, decision: decideBoot({ ...question, machine: about }) };
  }

  /** Behind address translation, or asked from the appliance itself, the address tells nothing; the inventory still does. */
  #declaredNetwork(machine: Machine | null, { mac }: ClientFacts): SiteNetwork | null {
    const card = machine?.spec.interfaces.find((candidate) => candidate.mac === mac);
    return card ? this.#fleet.network(card.network) : null;
  }
}
