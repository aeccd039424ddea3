// The cables of a machine: its declared switch ports, the LLDP neighbours that it reported, and whose port it is in.

import {
  type Cable,
  type CableVerdict,
  cableText,
  cableVerdict,
  isAt,
  type Neighbour,
  neighbourText,
  ownerText,
  type PortOwner,
  portText,
  type SwitchPort,
} from '../domain/cabling.ts';
import { parseMac } from '../domain/mac.ts';
import type { Machine, MachineInterface, MachineSpec } from '../domain/machine.ts';
import { shown } from '../domain/parsed.ts';
import type { Fleet } from '../inventory/fleet.ts';
import type { MachineFacts, SessionStore } from '../store/session-store.ts';
import type { Contradiction } from './sessions/contradictions.ts';
import { type MachineFactsBody, readFacts } from './sessions/reports.ts';

export interface CablingDeps {
  readonly fleet: Pick<Fleet, 'machines'>;
  readonly store: Pick<SessionStore, 'factsOf'>;
}

export interface CheckedCable extends Cable {
  readonly verdict: CableVerdict;
  /** Whose port it is in, when it is not its own. */
  readonly owner: PortOwner | null;
  /** For people. */
  readonly summary: string;
}

/** What one report says; its time. */
interface Report {
  readonly facts: MachineFactsBody;
  readonly at: number;
}

/** By what its sessions reported last. */
export async function cablingOf(deps: CablingDeps, machine: Machine): Promise<CheckedCable[]> {
  return checkCables(deps, machine, await reportsOf(deps, machine));
}

/** As declared and as its sessions last heard them, without a verdict. */
export const heardCables = async (deps: Pick<CablingDeps, 'store'>, machine: Machine): Promise<Cable[]> =>
  cablesOf(machine.spec, await reportsOf(deps, machine));

/** By these reports; the newest first. */
export async function checkCables(
  deps: CablingDeps,
  machine: Machine,
  reports: readonly Report[],
): Promise<CheckedCable[]> {
  const checked: CheckedCable[] = [];
  for (const cable of cablesOf(machine.spec, reports)) {
    const verdict = cableVerdict(cable);
    const owner = verdict === 'as-declared' || cable.seen === null ? null : await ownerOf(deps, machine, cable);
    checked.push({ ...cable, verdict, owner, summary: cableText(cable, owner) });
  }
  return checked;
}

/**
 * A session may end before the switch announces itself, so an older report counts where the newer ones heard nothing. Not so
 * when the card has no link any more.
 */
export function cablesOf({ interfaces }: MachineSpec, reports: readonly Report[]): Cable[] {
  return interfaces.map((nic) => {
    const said = reports.flatMap(({ facts, at }) => {
      const card = cardOf(facts, nic);
      return card ? [{ link: card.link ?? null, neighbour: neighbourOf(card), at }] : [];
    });
    const link = said[0]?.link ?? null;
    const heard = link === false ? undefined : said.find(({ neighbour }) => neighbour !== null);
    return {
      name: nic.name,
      mac: nic.mac,
      declared: nic.switch ?? null,
      seen: heard?.neighbour ?? null,
      seenAt: heard?.at ?? null,
      link,
    };
  });
}

type Card = MachineFactsBody['nics'][number];

const cardOf = ({ nics }: MachineFactsBody, { mac }: MachineInterface): Card | null =>
  (mac !== null &&
    nics.find((card) => {
      const parsed = parseMac(card.mac ?? '');
      return parsed.ok && parsed.value === mac;
    })) ||
  null;

function neighbourOf({ neighbour }: Card): Neighbour | null {
  if (!neighbour) return null;
  const { chassis = null, system = null, port = null, port_description: portDescription = null } = neighbour;
  return chassis === null && system === null && port === null ? null : { chassis, system, port, portDescription };
}

/** Switch names are unique within a site. Called for wrong cables only, so there is no index. */
async function ownerOf(deps: CablingDeps, { id, spec }: Machine, cable: Cable): Promise<PortOwner | null> {
  const { seen, declared } = cable;
  if (seen === null) return null;
  for (const other of deps.fleet.machines()) {
    if (other.spec.site !== spec.site) continue;
    for (const nic of other.spec.interfaces) {
      if (nic.switch === undefined || (other.id === id && nic.name === cable.name) || !isAt(seen, nic.switch)) continue;
      const isSwapped = declared !== null && (await isSeenAt(deps, other, nic, declared));
      return { hostname: other.spec.hostname, name: nic.name, isSwapped };
    }
  }
  return null;
}

async function isSeenAt(deps: CablingDeps, machine: Machine, { name }: MachineInterface, port: SwitchPort) {
  const cable = cablesOf(machine.spec, await reportsOf(deps, machine)).find((each) => each.name === name);
  return cable?.seen != null && isAt(cable.seen, port);
}

const reportsOf = async ({ store }: Pick<CablingDeps, 'store'>, { id }: Machine): Promise<Report[]> =>
  (await store.factsOf(id)).map(readReport);

const readReport = ({ facts, at }: MachineFacts): Report => ({ facts: readFacts(facts), at });

/** What is in another port than the declared one; what was not heard contradicts nothing. */
export const cableContradictions = (cables: readonly CheckedCable[]): Contradiction[] =>
  cables.flatMap(({ verdict, name, declared, seen, owner }) =>
    verdict === 'another-port' && declared !== null && seen !== null
      ? [
          {
            field: `interfaces.${name}.switch`,
            declared: portText(declared),
            found: `${shown(neighbourText(seen))}${owner === null ? '' : ` (${ownerText(owner)})`}`,
          },
        ]
      : [],
  );

/** Why a profile that requires its cables does not permit an installation. */
export const cablingProblems = (profile: string, cables: readonly CheckedCable[]): string[] =>
  cables.flatMap(({ verdict, name, declared, summary }) =>
    declared !== null && verdict !== 'as-declared'
      ? [
          `profile ${profile} requires the declared cabling (cabling: require), and ${name} belongs at ${portText(declared)}: ${summary}`,
        ]
      : [],
  );

/** The cards whose switch port is declared. */
export const declaredCards = ({ interfaces }: MachineSpec): string[] =>
  interfaces.flatMap((nic) => (nic.switch === undefined || nic.mac === null ? [] : [nic.mac]));
