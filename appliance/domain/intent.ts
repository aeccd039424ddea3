// Armed intent: the only thing that lets a boot destroy data. Made by a named actor, bound to one machine, short-lived,
// used once.

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
  /** The chassis it was armed for: MACs always, the UUID where it is known. */
  readonly macs: readonly Mac[];
  readonly uuid: ChassisUuid | null;
  /** What is to be installed; null for an erasure. */
  readonly profile: ObjectName | null;
  readonly actor: string;
  readonly armedAt: Instant;
  readonly expiresAt: Instant;
  readonly consumedAt: Instant | null;
  readonly revokedAt: Instant | null;
}

export type IntentStanding =
  | 'valid'
  | 'expired'
  | 'consumed'
  | 'revoked'
  | 'other-machine'
  | 'other-chassis'
  | 'not-yet';

/** Who is asking, as far as the wire tells. */
export interface Claimant {
  readonly machine: MachineId;
  readonly mac: Mac | null;
  readonly uuid: ChassisUuid | null;
}

/** Most restrictive first. An intent armed for a chassis whose UUID is known is never honoured without that UUID. */
export function intentStanding(intent: ArmedIntent, claimant: Claimant, now: Instant): IntentStanding {
  if (intent.machine !== claimant.machine) return 'other-machine';
  if (intent.revokedAt !== null) return 'revoked';
  if (intent.consumedAt !== null) return 'consumed';
  if (now >= intent.expiresAt) return 'expired';
  if (now < intent.armedAt) return 'not-yet';
  if (claimant.mac === null || !intent.macs.includes(claimant.mac)) return 'other-chassis';
  if (intent.uuid !== null && claimant.uuid !== intent.uuid) return 'other-chassis';
  return 'valid';
}
