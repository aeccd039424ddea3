// Switch ports as evidence: the switches that a machine is connected to, and other machines that claim the same port.

import { isAt, isSamePort, type Neighbour, neighbourText, portText, type SwitchPort } from '../../domain/cabling.ts';
import type { Machine } from '../../domain/machine.ts';
import { plainLine } from '../../domain/plain-line.ts';
import { heardCables } from '../../provisioning/cabling.ts';
import type { PortClaim } from '../../trail/diagnosis/facts.ts';
import type { ManagementDeps } from '../deps.ts';

type PortDeps = Pick<ManagementDeps, 'fleet' | 'store'>;

/** Enough for the machines of a few racks; each costs a read. */
const MOST_OTHERS = 100;
const MOST_NAME = 64;

/** The names of its switches: as they announced themselves, otherwise as declared. */
export async function switchesOf(deps: PortDeps, machine: Machine): Promise<string[]> {
  const cables = await heardCables(deps, machine);
  const names = cables.flatMap(({ declared, seen }) => {
    if (seen === null) return declared === null ? [] : [declared.name];
    return declared !== null && isAt(seen, declared) ? [declared.name] : (seen.system ?? seen.chassis ?? []);
  });
  return [...new Set(names.map(shortName))];
}

/** One machine may declare sw3 and another one hear sw3.dc1.example. A chassis id may have dots, too. */
const shortName = (name: string): string => {
  const short = /^[a-z][\w-]*\./i.test(name) ? name.slice(0, name.indexOf('.')) : name;
  return plainLine(short).slice(0, MOST_NAME);
};

/** Machines of its networks, also undeclared ones, that declare or heard a port that this one declares or heard. */
export async function portClaims(deps: PortDeps, machine: Machine): Promise<PortClaim[]> {
  const own = await portsOf(deps, machine);
  if (own.length === 0) return [];
  const networks = new Set(machine.spec.interfaces.map(({ network }) => network));
  const others = [...deps.fleet.machines()]
    .filter(
      ({ id, spec }) =>
        id !== machine.id &&
        spec.site === machine.spec.site &&
        spec.interfaces.some(({ network }) => networks.has(network)),
    )
    .slice(0, MOST_OTHERS);
  const claims: PortClaim[] = [];
  for (const other of others) {
    const theirs = await portsOf(deps, other);
    for (const mine of own) {
      const same = theirs.find((port) => isSame(mine, port));
      if (same === undefined || claims.some(({ name }) => name === other.spec.hostname)) continue;
      claims.push({ name: other.spec.hostname, port: textOf(mine), own: mine.how, other: same.how });
    }
  }
  return claims;
}

type Port = { readonly how: 'declared'; readonly at: SwitchPort } | { readonly how: 'heard'; readonly at: Neighbour };

async function portsOf(deps: PortDeps, machine: Machine): Promise<Port[]> {
  return (await heardCables(deps, machine)).flatMap(({ declared, seen }): Port[] => [
    ...(declared === null ? [] : [{ how: 'declared', at: declared } as const]),
    ...(seen === null ? [] : [{ how: 'heard', at: seen } as const]),
  ]);
}

function isSame(one: Port, other: Port): boolean {
  if (one.how === 'declared') return other.how === 'declared' ? isSamePort(one.at, other.at) : isAt(other.at, one.at);
  if (other.how === 'declared') return isAt(one.at, other.at);
  const { system, chassis, port } = one.at;
  const name = system ?? chassis;
  return name !== null && port !== null && isAt(other.at, { name, port });
}

const textOf = ({ how, at }: Port): string =>
  plainLine(how === 'declared' ? portText(at) : neighbourText(at)).slice(0, 2 * MOST_NAME);
