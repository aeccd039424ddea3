// What on the appliance's own side makes work on a machine impossible: no usable loader for its firmware, and a disk or a store that
// cannot be written. A command that cannot succeed is refused at once, and not found at its deadline.

import { loaderFor } from '../boot/loaders.ts';
import type { ApplianceProblem } from '../domain/appliance-problem.ts';
import { CLIENT_ARCHITECTURES, type ClientArchitecture } from '../domain/architecture.ts';
import type { Machine } from '../domain/machine.ts';
import type { SiteNetwork } from '../domain/network.ts';

export interface ApplianceGuardDeps {
  /** Whether a loader is here and undamaged. */
  readonly loaderAvailable: (file: string) => boolean;
  readonly applianceProblems: () => readonly ApplianceProblem[];
}

/** Without a written record no session is opened, and no intent is consumed. */
const BLOCKING: readonly ApplianceProblem['id'][] = ['disk-full', 'store-failing'];

export const blockingProblems = ({ applianceProblems }: Pick<ApplianceGuardDeps, 'applianceProblems'>): string[] =>
  applianceProblems()
    .filter(({ id }) => BLOCKING.includes(id))
    .map(({ words }) => words);

/** `networks`: those of its cards with a MAC address. `firmware`: as inspected; null: not known yet, so any kind may be right. */
export function loaderProblems(
  { loaderAvailable: available }: Pick<ApplianceGuardDeps, 'loaderAvailable'>,
  { spec }: Machine,
  networks: readonly SiteNetwork[],
  firmware: 'bios' | 'efi' | null,
): string[] {
  const possible = firmwaresOf(spec.architecture).filter(
    ({ firmware: kind }) => firmware === null || kind === firmware,
  );
  // Where another server answers DHCP, the loader is that server's.
  const served = networks.filter(({ dhcp, server }) => dhcp !== 'off' && server !== null);
  const reasons = served.flatMap((network) => {
    const secureBoot = spec.secureBoot ?? network.secureBoot;
    const choices = possible.map((architecture) => ({
      architecture,
      choice: loaderFor(architecture, { efiLoader: network.efiLoader, secureBoot, available }),
    }));
    if (choices.length === 0 || choices.some(({ choice }) => choice.kind === 'loader')) return [];
    return choices.map(({ architecture, choice }) => `${architecture.name}: ${choice.why}`);
  });
  if (reasons.length === 0) return [];
  return [`no loader can be offered to its firmware (${[...new Set(reasons)].join('; ')})`];
}

/** What its firmware can report in DHCP option 93 over PXE, one of each kind. */
function firmwaresOf(cpu: string): ClientArchitecture[] {
  const all = [...CLIENT_ARCHITECTURES.values()].filter(
    (architecture) =>
      architecture.cpu === cpu && architecture.transport === 'tftp' && ['bios', 'efi'].includes(architecture.firmware),
  );
  return all.filter(({ firmware }, at) => all.findIndex((other) => other.firmware === firmware) === at);
}
