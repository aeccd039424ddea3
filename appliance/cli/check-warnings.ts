// The warnings of `check`: the files are valid, but a deployment would be refused or leave an unusable machine.

import type { BootContract } from '../assets/boot-contract.ts';
import { type PasswordFolder, readPasswordFile } from '../bmc/access/password-files.ts';
import { CLIENT_ARCHITECTURES } from '../domain/architecture.ts';
import type { Inventory } from '../domain/inventory.ts';
import type { MachineSpec } from '../domain/machine.ts';
import type { DeclaredSource } from '../inventory/check.ts';
import { deployOutlook } from '../provisioning/deploy-outlook.ts';
import type { FindAsset } from '../provisioning/orders/served-image.ts';
import { indexInventory } from '../render/plan-index.ts';

/** Why each password file of the inventory cannot be used here, by its path. */
export async function passwordFileProblems(
  { machines }: Inventory,
  place: PasswordFolder,
): Promise<Map<string, string>> {
  const problems = new Map<string, string>();
  for (const file of new Set(machines.flatMap(({ spec }) => spec.bmc?.passwordFile ?? []))) {
    const read = await readPasswordFile(place, file);
    if (!read.ok) problems.set(file, read.reason);
  }
  return problems;
}

/** `find` null: the state folder is unknown, so missing files are not reported. */
export function deployWarnings(
  sources: readonly DeclaredSource[],
  inventory: Inventory,
  find: FindAsset | null,
  passwordProblems: ReadonlyMap<string, string> = new Map(),
): string[] {
  const index = indexInventory(inventory);
  const places = nodePlaces(sources);
  const nodesWith = new Map<string, { readonly place: string; others: number }>();
  const warn = (spec: MachineSpec, field: string, problem: string): void => {
    const known = nodesWith.get(problem);
    if (known) known.others += 1;
    else nodesWith.set(problem, { place: `${places.get(spec.hostname) ?? spec.hostname}.${field}`, others: 0 });
  };
  for (const machine of inventory.machines) {
    const { spec } = machine;
    if (spec.profile !== null) {
      for (const { field, problem } of deployOutlook(index, machine, find)) warn(spec, field, problem);
    }
    const problem = passwordProblems.get(spec.bmc?.passwordFile ?? '');
    if (problem !== undefined) warn(spec, 'bmc.password_file', problem);
  }
  return [...nodesWith].map(
    ([problem, { place, others }]) => `${place}: ${problem}${others === 0 ? '' : ` (and ${others} more nodes)`}`,
  );
}

/** One line for all missing files: one command builds them. Counts only architectures that the inventory has. */
export function missingBootFiles({ missing }: BootContract, inventory: Inventory): string[] {
  const declared = new Set<string>([...inventory.skus, ...inventory.machines.map(({ spec }) => spec)].map(cpuOf));
  const relevant = missing.filter(({ architectures }) => architectures.some((name) => declared.has(cpuNamed(name))));
  if (relevant.length === 0) return [];
  const parts = [...new Set(relevant.map(({ what }) => what))];
  return [`${relevant.length} boot files are missing (${parts.join(', ')}): run coldiron assets build`];
}

const cpuOf = ({ architecture }: { readonly architecture: string }): string => architecture;

/** Loaders are listed by the code of option 93, images by the processor. */
function cpuNamed(architecture: string): string {
  const code = /^(\d+) /.exec(architecture)?.[1];
  return code === undefined ? architecture : (CLIENT_ARCHITECTURES.get(Number(code))?.cpu ?? architecture);
}

function nodePlaces(sources: readonly DeclaredSource[]): Map<string, string> {
  return new Map(
    sources.flatMap(({ file, declared }) =>
      declared.nodes.map(({ hostname }, at): [string, string] => [hostname, `${file}: nodes[${at}]`]),
    ),
  );
}
