// Whether the armed intent of a machine is valid for the client that boots now; if not, exactly why not.

import { type Instant, instantText } from '../domain/instant.ts';
import { type ArmedIntent, type IntentKind, intentValidity } from '../domain/intent.ts';
import type { Machine } from '../domain/machine.ts';
import { type Because, because } from './because.ts';
import type { ClientFacts } from './client-facts.ts';

export type HonouredIntent =
  | { readonly valid: true; readonly intent: ArmedIntent }
  | { readonly valid: false; readonly because: Because };

const WORK = {
  deploy: { work: 'installation', verb: 'deploy' },
  erase: { work: 'erasure', verb: 'release' },
} as const;

export function honourIntent(machine: Machine, kind: IntentKind, facts: ClientFacts, now: Instant): HonouredIntent {
  const { intent } = machine;
  const node = machine.spec.hostname;
  const { state } = machine.lifecycle;
  const details = { node, ...WORK[kind] };
  if (intent === null) return not(because('intent-missing', { ...details, state }));
  if (intent.kind !== kind) return not(because('intent-of-other-kind', { ...details, state }));

  const rightCard = facts.mac !== null && intent.macs.includes(facts.mac);
  const uuidMissing = rightCard && facts.uuid === null && (machine.spec.uuid ?? intent.uuid) !== null;
  switch (intentValidity(intent, { machine: machine.id, mac: facts.mac, uuid: facts.uuid }, now)) {
    case 'other-machine':
      return not(because('intent-for-other-machine', details));
    case 'revoked':
      return not(because('intent-revoked', { ...details, at: timeText(intent.revokedAt) }));
    case 'consumed':
      return not(because('intent-consumed', { ...details, at: timeText(intent.consumedAt) }));
    case 'expired':
      return not(because('intent-expired', { ...details, at: timeText(intent.expiresAt) }));
    case 'not-yet':
      return not(because('intent-not-yet', { ...details, at: timeText(intent.armedAt) }));
    case 'other-chassis':
      return not(uuidMissing ? because('chassis-untold', details) : because('intent-for-other-chassis', details));
    case 'valid':
      // Armed before the UUID was known: the UUID is required all the same.
      return uuidMissing ? not(because('chassis-untold', details)) : { valid: true, intent };
  }
}

const not = (reason: Because): HonouredIntent => ({ valid: false, because: reason });
const timeText = (at: Instant | null): string => (at === null ? 'an unknown time' : instantText(at));
