// Effects as data: what a transition wants done in the world. Written down with the transition, done afterwards, resumed
// after a crash. Each may be done twice and must come to the same.

import type { Instant } from './instant.ts';
import type { MachineId } from './machine.ts';
import type { Branded } from './parsed.ts';

export const EFFECT_KINDS = [
  'boot-from-network', // boot device to PXE once, then power cycle
  'boot-from-disk', // boot device to disk, then power cycle
  'power-off',
  'release-without-erase', // the fallback when erasing failed and policy allows it
] as const;
export type EffectKind = (typeof EFFECT_KINDS)[number];

export type EffectId = Branded<string, 'EffectId'>;

export interface NewEffect {
  readonly id: EffectId;
  readonly machine: MachineId;
  readonly kind: EffectKind;
  /** Passed on to everything the effect writes, so that the trail hangs together. */
  readonly correlationId: string | null;
}

export interface Effect extends NewEffect {
  /** The order in which they were written: one machine's effects run in it. */
  readonly seq: number;
  readonly state: 'pending' | 'running' | 'done' | 'failed';
  readonly attempts: number;
  readonly notBefore: Instant;
  readonly lastError: string | null;
}
