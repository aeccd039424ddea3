// Undeclared machines that appeared since the network boot of a run, and whether one of them is the machine behind its BMC: by MAC address, by
// the BMC address that its service OS read, or by its serial number.

import type { Instant } from '../../domain/instant.ts';
import { type Machine, macsOf } from '../../domain/machine.ts';
import type { Onboarding } from '../../domain/onboarding.ts';
import type { Fleet } from '../../inventory/fleet.ts';
import type { NewMachine } from '../../onboarding/discovery-order.ts';
import { shownBy } from '../../provisioning/shown-by.ts';
import type { Store } from '../../store/store.ts';
import type { BmcAnswer, BmcCards } from './bmc-cards.ts';

export interface NewMachinesDeps {
  readonly store: Pick<Store, 'events' | 'sessionsOf' | 'factsOf'>;
  readonly fleet: Pick<Fleet, 'discovered' | 'machineByMac'>;
  readonly cards: Pick<BmcCards, 'of'>;
}

/** Of those that no MAC address and no serial number of the BMC selects: they are read from the store, one by one. */
const MOST_LOOKED_AT = 50;

export async function newMachines(
  deps: NewMachinesDeps,
  run: Onboarding,
  machine: Machine,
): Promise<readonly NewMachine[]> {
  const { fleet } = deps;
  const { bootedAt } = run;
  if (bootedAt === null) return [];
  const answer = await deps.cards.of(machine);
  const ofSite = ({ lifecycle, spec }: Machine): boolean =>
    lifecycle.state === 'discovered' && spec.site === run.request.site;
  const byCard = answer.cards.flatMap(({ mac }) => fleet.machineByMac(mac) ?? []).filter(ofSite);
  const strangers = [...fleet.discovered().values()].filter(ofSite);
  const bySerial = strangers.filter(({ spec }) => isSame(spec.serial, answer.serial));
  // With hundreds of new machines, those that can be it by what is known at once come first.
  const chosen = [...new Set([...byCard, ...bySerial])];
  const looked = chosen.length > 0 ? chosen : strangers.slice(-MOST_LOOKED_AT);
  const found = await Promise.all(looked.map((one) => appeared(deps, one, { machine, answer, bootedAt })));
  return found.flatMap((one) => one ?? []);
}

interface Sought {
  readonly machine: Machine;
  readonly answer: BmcAnswer;
  readonly bootedAt: Instant;
}

/** Null: nothing was heard of it since the boot. */
async function appeared(deps: NewMachinesDeps, one: Machine, sought: Sought): Promise<NewMachine | null> {
  const { bootedAt } = sought;
  const [last] = await deps.store.events({ machine: one.id, limit: 1, newest: true });
  if (last === undefined || last.at < bootedAt) return null;
  const firstSeen = Math.max(bootedAt, one.lifecycle.since);
  const name = `${one.spec.hostname} (${macsOf(one.spec).join(', ')})`;
  return { id: one.id, name, firstSeen, identity: await identityOf(deps, one, sought) };
}

async function identityOf(
  { store }: NewMachinesDeps,
  stranger: Machine,
  { machine, answer: { cards, serial } }: Sought,
): Promise<NewMachine['identity']> {
  const macs = macsOf(stranger.spec);
  if (cards.some(({ mac }) => macs.includes(mac))) return 'same';
  const [newest] = await store.factsOf(stranger.id);
  const address = bmcAddressIn(newest?.facts);
  if (address !== null) return address === machine.spec.bmc?.address ? 'same' : 'other';
  if (serial === null) return 'unknown';
  const shown = (await shownBy(store, stranger)).serial;
  if (shown === null) return 'unknown';
  return isSame(shown, serial) ? 'same' : 'other';
}

const isSame = (one: string | null, other: string | null): boolean =>
  one !== null && other !== null && one.trim().toLowerCase() === other.trim().toLowerCase();

function bmcAddressIn(facts: unknown): string | null {
  const bmc = (facts as { readonly bmc?: { readonly address?: unknown } | null } | null | undefined)?.bmc;
  const address = bmc?.address;
  return typeof address === 'string' && address !== '' && address !== '0.0.0.0' ? address : null;
}
