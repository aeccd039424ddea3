// The mark of a node that was released although its disks could not be erased. Nothing is deployed to it, and nobody gets it, until a
// release has erased them.

import { type Instant, instantText } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Write } from '../../store/change.ts';
import type { LifecycleEvent } from '../transitions.ts';

/** The writes of a transition, with the mark set or deleted. `reason`: why the disks were not erased. */
export function withErasureMark(
  { hardware }: Machine,
  event: LifecycleEvent,
  reason: string,
  at: Instant,
  writes: readonly Write[],
): readonly Write[] {
  if (event === 'released-unerased') {
    return [...writes, { kind: 'put-hardware', hardware: { ...hardware, unerased: { at, reason } } }];
  }
  if (event !== 'released' || hardware.unerased === undefined) return writes;
  const others = writes.filter(({ kind }) => kind !== 'put-hardware');
  const written = writes.findLast((write) => write.kind === 'put-hardware');
  const { unerased: _, ...erased } = written?.hardware ?? hardware;
  return [...others, { kind: 'put-hardware', hardware: erased }];
}

/** Why nothing may be deployed to it. Empty: its disks may be used. */
export function unerasedProblems({ hardware, spec }: Pick<Machine, 'hardware' | 'spec'>): string[] {
  if (hardware.unerased === undefined) return [];
  const { at, reason } = hardware.unerased;
  const again = `coldiron release ${spec.hostname}`;
  return [
    `its disks were not erased when it was released at ${instantText(at)} (${reason}): erase them first: ${again}`,
  ];
}
