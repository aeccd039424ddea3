// Effects: external actions that a transition requires. They are stored with the transition, run afterwards and resumed after
// a crash. Each must be idempotent, because it may run twice.

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
  /** Copied to every event that the effect writes, so that they can be found together. */
  readonly correlationId: string | null;
}

export interface Effect extends NewEffect {
  /** Order of creation; the effects of one machine run in this order. */
  readonly seq: number;
  readonly state: 'pending' | 'running' | 'done' | 'failed';
  readonly attempts: number;
  readonly notBefore: Instant;
  readonly lastError: string | null;
}
