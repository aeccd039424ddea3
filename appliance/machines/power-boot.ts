// What a machine starts when an operator switches it on or restarts it while it is being worked on. Its firmware would start the old system
// from the disk: after a power cut during an erasure, that system is still there. So it starts from the network, where its state decides.

import { intentNeeded, runsSession } from '../domain/lifecycle.ts';
import type { Machine } from '../domain/machine.ts';
import { STATES } from '../domain/states.ts';

const REPEATED_BY = { deploy: 'deploy', erase: 'release' } as const;

/** What the start does to the work; null: no work is under way, and the firmware decides. */
export function networkStart({ lifecycle, intent, spec }: Machine): string | null {
  const { state } = lifecycle;
  if (!runsSession(state)) return null;
  const needed = intentNeeded(state);
  const hasBegun = lifecycle.fallbackUsed || (intent?.consumedAt != null && intent.consumedAt >= lifecycle.since);
  if (needed !== null && hasBegun) {
    return `starts from the network, where it is found interrupted: ${state} fails; repeat it with coldiron ${REPEATED_BY[needed]} ${spec.hostname}`;
  }
  return `starts from the network, to ${STATES[state].session?.mode ?? 'work'}`;
}
