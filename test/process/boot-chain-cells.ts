// The matrix of the boot chain: every kind of client in every state, with the specified result.

import { LIFECYCLE_STATES, type LifecycleState } from '../../appliance/domain/lifecycle.ts';
import { UNKNOWN_POLICIES, type UnknownPolicy } from '../../appliance/domain/network.ts';
import { STATES } from '../../appliance/domain/states.ts';
import { mac } from '../store/samples.ts';
import type { Client, Machine } from './boot-chain-packets.ts';

export const CLIENTS = ['bios', 'uefi', 'uefi-http', 'arm64', 'secure-boot'] as const satisfies readonly Client[];

export const CPUS = ['x86_64', 'arm64'] as const;
type Cpu = (typeof CPUS)[number];

export const cpuOf = (client: Client): Cpu => (client === 'arm64' ? 'arm64' : 'x86_64');

/** NixOS has an installer for each profile, for one architecture. */
export const nixosFor = (cpu: Cpu): string => `nixos-${cpu.replace('_', '-')}`;

/** The result of its script, in words that `outcomeOf` finds in the script. */
type Gets = string;

interface Row {
  /** Null: the machine is undeclared and was never seen. */
  readonly state: LifecycleState | null;
  readonly policy: UnknownPolicy;
  readonly installs?: 'debian' | 'nixos';
  readonly gets: Gets;
}

/** On a network that ignores unknown machines, so that the state alone decides. */
const known = (state: LifecycleState, gets: Gets, installs?: Row['installs']): Row => ({
  state,
  policy: 'ignore',
  gets,
  ...(installs && { installs }),
});

const STRANGER_GETS: Readonly<Record<UnknownPolicy, Gets>> = {
  ignore: 'silence',
  refuse: 'refusal: unaccepted-refused',
  hold: 'hold',
  'local-disk': 'local disk',
  inspect: 'service OS: inspect',
};

/** test/boot/boot-cases.ts tests the table of states; this tests that the servers follow it. */
function rowsOf(state: LifecycleState): readonly Row[] {
  const { boots } = STATES[state];
  switch (boots.into) {
    case 'network-policy':
      return [];
    case 'local-disk':
      return [known(state, 'local disk')];
    case 'refusal':
      return [known(state, `refusal: ${state}`)];
    case 'service-os':
      return [known(state, `service OS: ${boots.mode}`)];
    case 'armed-work':
      return boots.intent === 'erase'
        ? [known(state, 'service OS: erase')]
        : [known(state, 'installer', 'debian'), known(state, 'installer', 'nixos')];
  }
}

const ROWS: readonly Row[] = [
  ...LIFECYCLE_STATES.flatMap(rowsOf),
  ...(['discovered', null] as const).flatMap((state) =>
    UNKNOWN_POLICIES.map((policy) => ({ state, policy, gets: STRANGER_GETS[policy] })),
  ),
];

export interface Cell extends Row {
  readonly machine: Machine;
  readonly network: string;
  /** By name of the armed profile. */
  readonly profile: string | null;
}

export interface ChainNetwork {
  readonly name: string;
  readonly unknown: UnknownPolicy;
  readonly signed: boolean;
  readonly efiLoader: 'snponly' | 'ipxe';
}

const networkName = (policy: UnknownPolicy, signed: boolean): string => (signed ? `${policy}-signed` : policy);

export const NETWORKS: readonly ChainNetwork[] = [
  ...[false, true].flatMap((signed) =>
    UNKNOWN_POLICIES.map(
      (unknown): ChainNetwork => ({ name: networkName(unknown, signed), unknown, signed, efiLoader: 'snponly' }),
    ),
  ),
  { name: 'all-drivers', unknown: 'refuse', signed: false, efiLoader: 'ipxe' },
];

export const prefixOf = (network: string): string => `10.80.${indexOf(network)}`;
export const serverOf = (network: string): string => `${prefixOf(network)}.1`;
/** The appliance's end and the machines' end of a cable. */
export const portOf = (network: string): string => `port${indexOf(network)}`;
export const wireOf = (network: string): string => `wire${indexOf(network)}`;

function indexOf(network: string): number {
  const index = NETWORKS.findIndex(({ name }) => name === network);
  if (index === -1) throw new Error(`no network is called ${network}`);
  return index;
}

export function machineOn(network: string, name: string, number: number, client: Client): Machine {
  const hardware = mac(number);
  const uuid = `7a11ab1e-0000-4000-8000-${hardware.replaceAll(':', '')}`;
  return { name, mac: hardware, uuid, client, device: wireOf(network) };
}

export const CELLS: readonly Cell[] = ROWS.flatMap((row, at) =>
  CLIENTS.map((client, column): Cell => {
    const isStranger = row.state === null || row.state === 'discovered';
    // A known machine itself is declared to start only signed programs; for an unknown one its network is.
    const network = networkName(row.policy, isStranger && client === 'secure-boot');
    const words = [row.state ?? 'undeclared', ...(isStranger ? [row.policy] : []), row.installs, client];
    const name = words.filter((word) => word !== undefined).join('-');
    const profile = row.installs === 'nixos' ? nixosFor(cpuOf(client)) : (row.installs ?? null);
    const machine = machineOn(network, name, 1 + at * CLIENTS.length + column, client);
    return { ...row, machine, network, profile, gets: profile === null ? row.gets : `installer: ${profile}` };
  }),
);
