// The assumptions of `explain`: the machine as if it were in another state, or armed, and what was assumed for it.

import { HOUR, type Instant } from '../domain/instant.ts';
import { type ArmedIntent, type IntentId, type IntentKind, intentValidity } from '../domain/intent.ts';
import type { LifecycleState } from '../domain/lifecycle.ts';
import type { Mac } from '../domain/mac.ts';
import { type Machine, macsOf } from '../domain/machine.ts';
import { STATES } from '../domain/states.ts';

export interface Supposed {
  /** null: its actual state. */
  readonly state: LifecycleState | null;
  /** null: as it is; in an assumed state, armed if that state needs it. */
  readonly armed: boolean | null;
}

export interface SupposedMachine {
  readonly machine: Machine;
  /** The assumptions that differ from reality, one sentence each. */
  readonly notes: readonly string[];
}

/** The intent that a machine in this state needs to get more than its own disk. */
export function armedKind(state: LifecycleState): IntentKind | null {
  const { boots } = STATES[state];
  return boots.into === 'armed-work' ? boots.intent : null;
}

export function supposeMachine(actual: Machine, { state, armed }: Supposed, mac: Mac, now: Instant): SupposedMachine {
  const is = actual.lifecycle.state;
  const moved = state !== null && state !== is;
  const machine: Machine = moved
    ? { ...actual, lifecycle: { ...actual.lifecycle, state, since: now, failure: null, note: null } }
    : actual;
  const notes = moved ? [`As if it were ${state}; it is ${is}.`] : [];
  const kind = armedKind(machine.lifecycle.state);
  if (armed === false && machine.intent !== null) {
    return { machine: { ...machine, intent: null }, notes: [...notes, 'As if nothing were armed for it.'] };
  }
  const assume = armed ?? moved;
  if (kind === null || !assume || isOpen(machine, kind, mac, now)) return { machine, notes };
  const intent = assumedIntent(machine, kind, now);
  return { machine: { ...machine, intent }, notes: [...notes, armedNote(intent)] };
}

function isOpen({ id, spec, intent }: Machine, kind: IntentKind, mac: Mac, now: Instant): boolean {
  if (intent === null || intent.kind !== kind) return false;
  return intentValidity(intent, { machine: id, mac, uuid: spec.uuid }, now) === 'valid';
}

const assumedIntent = ({ id, spec, intent }: Machine, kind: IntentKind, now: Instant): ArmedIntent => ({
  id: 'assumed' as IntentId,
  kind,
  machine: id,
  macs: macsOf(spec),
  uuid: spec.uuid,
  // What was armed last, or else what is declared: like `coldiron deploy` without a profile.
  profile: kind === 'erase' ? null : ((intent?.kind === kind ? intent.profile : null) ?? spec.profile),
  actor: 'somebody',
  armedAt: now,
  expiresAt: now + HOUR,
  consumedAt: null,
  revokedAt: null,
});

function armedNote({ kind, profile }: ArmedIntent): string {
  const work =
    kind === 'erase' ? 'an erasure' : profile === null ? 'a deployment' : `a deployment of profile ${profile}`;
  return `As if ${work} were armed for it; this query arms nothing.`;
}
