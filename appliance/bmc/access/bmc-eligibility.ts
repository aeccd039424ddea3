// Whether a machine's BMC may be touched, and if not, why not.

import type { BmcEndpoint, Machine } from '../../domain/machine.ts';
import type { BmcMode } from '../../domain/network.ts';

export type BmcStanding =
  | { readonly kind: 'open'; readonly mode: 'real' | 'recorder'; readonly endpoint: BmcEndpoint }
  | { readonly kind: 'absent'; readonly reason: string }
  | { readonly kind: 'off-limits'; readonly reason: string };

/** `mode` is that of the machine's site; null: it belongs to none, so nobody has allowed its BMC to be touched. */
export function bmcStanding({ spec: { bmc }, lifecycle }: Machine, mode: BmcMode | null): BmcStanding {
  // Its BMC may belong to another machine by now.
  if (lifecycle.state === 'removed') return { kind: 'off-limits', reason: 'the node is removed' };
  if (bmc === null) return { kind: 'absent', reason: 'no BMC is declared for it' };
  if (mode === null) return { kind: 'off-limits', reason: 'the machine belongs to no site' };
  if (mode === 'disabled') return { kind: 'off-limits', reason: 'its site leaves BMCs alone (bmc_mode disabled)' };
  return { kind: 'open', mode, endpoint: bmc };
}
