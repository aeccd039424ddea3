import type { ArmedIntent, IntentId } from '../../domain/intent.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { IntentTable } from './schema.ts';

type Terms = Pick<ArmedIntent, 'kind' | 'macs' | 'uuid' | 'profile' | 'actor'>;

/** Aliased where the machine's row has a column of the same name. */
export const joinedIntentColumns = [
  'intents.id as intent_id',
  'intents.terms',
  'intents.armed_at',
  'intents.expires_at',
  'intents.consumed_at',
  'intents.revoked_at',
] as const;

/** All null for a machine that was never armed. */
export interface JoinedIntent {
  readonly intent_id: string | null;
  readonly terms: string | null;
  readonly armed_at: number | null;
  readonly expires_at: number | null;
  readonly consumed_at: number | null;
  readonly revoked_at: number | null;
}

export function toIntentRow(intent: ArmedIntent): IntentTable {
  const { kind, macs, uuid, profile, actor } = intent;
  return {
    id: intent.id,
    machine: intent.machine,
    terms: JSON.stringify({ kind, macs, uuid, profile, actor } satisfies Terms),
    armed_at: intent.armedAt,
    expires_at: intent.expiresAt,
    consumed_at: intent.consumedAt,
    revoked_at: intent.revokedAt,
  };
}

/** The terms are cast, like a machine's spec: only `toIntentRow` writes them. */
export function toJoinedIntent(row: JoinedIntent, machine: MachineId): ArmedIntent | null {
  if (row.intent_id === null || row.terms === null || row.armed_at === null || row.expires_at === null) return null;
  const { kind, macs, uuid, profile, actor } = JSON.parse(row.terms) as Terms;
  return {
    id: row.intent_id as IntentId,
    kind,
    machine,
    macs,
    uuid,
    profile,
    actor,
    armedAt: row.armed_at,
    expiresAt: row.expires_at,
    consumedAt: row.consumed_at,
    revokedAt: row.revoked_at,
  };
}
