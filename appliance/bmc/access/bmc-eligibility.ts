// Whether a machine's BMC may be used, and if not, why not.

import type { BmcEndpoint, Machine } from '../../domain/machine.ts';
import type { BmcMode } from '../../domain/network.ts';

export type BmcEligibility =
  | { readonly kind: 'open'; readonly mode: 'real' | 'recorder'; readonly endpoint: BmcEndpoint }
  | { readonly kind: 'absent'; readonly reason: string }
  | { readonly kind: 'off-limits'; readonly reason: string };

/** `mode` is that of the machine's site; null: it has no site, so its BMC may not be used. */
export function bmcEligibility({ spec: { bmc }, lifecycle }: Machine, mode: BmcMode | null): BmcEligibility {
  // Its BMC may belong to another machine already.
  if (lifecycle.state === 'removed') return { kind: 'off-limits', reason: 'the node is removed' };
  if (bmc === null) return { kind: 'absent', reason: 'no BMC is declared for it' };
  if (mode === null) return { kind: 'off-limits', reason: 'the machine belongs to no site' };
  if (mode === 'disabled')
    return { kind: 'off-limits', reason: 'BMC access is disabled for its site (bmc_mode disabled)' };
  return { kind: 'open', mode, endpoint: bmc };
}
