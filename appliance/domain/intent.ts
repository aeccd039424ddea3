// An armed intent is the only permission that lets a boot destroy data. It has a named actor, is bound to one machine, expires
// soon and is consumed once.

import type { ChassisUuid } from './chassis.ts';
import type { Instant } from './instant.ts';
import type { Mac } from './mac.ts';
import type { MachineId } from './machine.ts';
import type { ObjectName } from './names.ts';
import type { Branded } from './parsed.ts';

export type IntentId = Branded<string, 'IntentId'>;
export type IntentKind = 'deploy' | 'erase';

export interface ArmedIntent {
  readonly id: IntentId;
  readonly kind: IntentKind;
  readonly machine: MachineId;
  /** The chassis it was armed for: its MACs, and its UUID if known. */
  readonly macs: readonly Mac[];
  readonly uuid: ChassisUuid | null;
  /** The profile to install; null for an erasure. */
  readonly profile: ObjectName | null;
  readonly actor: string;
  readonly armedAt: Instant;
  readonly expiresAt: Instant;
  readonly consumedAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export type IntentValidity =
  | 'valid'
  | 'expired'
  | 'consumed'
  | 'revoked'
  | 'other-machine'
  | 'other-chassis'
  | 'not-yet';

/** The machine that wants to use the intent, as its request identifies it. */
export interface Claimant {
  readonly machine: MachineId;
  readonly mac: Mac | null;
  readonly uuid: ChassisUuid | null;
}

/** Most restrictive first. An intent with a UUID is never valid for a request without that UUID. */
export function intentValidity(intent: ArmedIntent, claimant: Claimant, now: Instant): IntentValidity {
  if (intent.machine !== claimant.machine) return 'other-machine';
  if (intent.revokedAt !== null) return 'revoked';
  if (intent.consumedAt !== null) return 'consumed';
  if (now >= intent.expiresAt) return 'expired';
  if (now < intent.armedAt) return 'not-yet';
  if (claimant.mac === null || !intent.macs.includes(claimant.mac)) return 'other-chassis';
  if (intent.uuid !== null && claimant.uuid !== intent.uuid) return 'other-chassis';
  return 'valid';
}
