// What the BMC of a run says about the machine behind it: its network cards and its serial number. Asked before a node exists, too, with the
// login that the node would get.

import type { BmcService } from '../../bmc/access/bmc-service.ts';
import type { NetworkCard } from '../../bmc/bmc.ts';
import { NO_HARDWARE } from '../../domain/hardware-identity.ts';
import { type Instant, MINUTE } from '../../domain/instant.ts';
import { lifeIn } from '../../domain/lifecycle.ts';
import type { Mac } from '../../domain/mac.ts';
import type { Machine, MachineId, MachineSpec } from '../../domain/machine.ts';
import type { ObjectName } from '../../domain/names.ts';
import type { Onboarding } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';

export interface BmcCardsDeps {
  readonly bmc: Pick<BmcService['nodes'], 'ask'>;
  readonly now: () => Instant;
}

export interface BmcAnswer {
  readonly cards: readonly NetworkCard[];
  /** Null: the BMC does not know it. */
  readonly serial: string | null;
}

/** It answers slowly, and the answer does not change. */
const ASK_AGAIN_AFTER = 5 * MINUTE;
const NOTHING: BmcAnswer = { cards: [], serial: null };

/** One answer for each BMC; a BMC that does not answer says nothing, and is asked again later. */
export class BmcCards {
  readonly #deps: BmcCardsDeps;
  readonly #answers = new Map<string, { readonly at: Instant; readonly answer: Promise<BmcAnswer> }>();

  constructor(deps: BmcCardsDeps) {
    this.#deps = deps;
  }

  of(machine: Machine): Promise<BmcAnswer> {
    const { now } = this.#deps;
    const address = machine.spec.bmc?.address;
    if (address === undefined) return Promise.resolve(NOTHING);
    const known = this.#answers.get(address);
    if (known && now() - known.at < ASK_AGAIN_AFTER) return known.answer;
    this.#forgetOld();
    const answer = this.#ask(machine);
    this.#answers.set(address, { at: now(), answer });
    return answer;
  }

  async #ask(machine: Machine): Promise<BmcAnswer> {
    try {
      const { mode, result } = await this.#deps.bmc.ask(machine, async (bmc) => ({
        serial: (await bmc.identity()).serial,
        cards: await bmc.networkCards(),
      }));
      return mode === 'real' ? result : NOTHING;
    } catch {
      return NOTHING;
    }
  }

  #forgetOld(): void {
    const { now } = this.#deps;
    for (const [address, { at }] of this.#answers) {
      if (now() - at >= ASK_AGAIN_AFTER) this.#answers.delete(address);
    }
  }
}

/** The node as the run would create it: enough to open its BMC. */
export const prospective = ({ id }: Onboarding, spec: MachineSpec, now: Instant): Machine => ({
  id: id as string as MachineId,
  spec,
  source: 'api',
  lifecycle: lifeIn('registered', now),
  ...{ health: 'unknown', hardware: NO_HARDWARE, intent: null, version: 0, revision: 0 },
});

export interface BootCard {
  readonly mac: Mac;
  readonly network: ObjectName;
}

/**
 * The card that it boots from, where only one is possible: the only one, or the only one with a link; and one network of the site that
 * machines boot on. Null: the boot shows which one it is.
 */
export function bootCard(
  fleet: Pick<Fleet, 'networks'>,
  site: ObjectName,
  cards: readonly NetworkCard[],
): BootCard | null {
  const [network, ...others] = [...fleet.networks()].filter((one) => one.site === site && one.server !== null);
  if (network === undefined || others.length > 0) return null;
  const lit = cards.filter(({ link }) => link === 'up');
  const [only, ...more] = cards.length === 1 ? cards : lit;
  return only === undefined || more.length > 0 ? null : { mac: only.mac, network: network.name };
}
