// Events of the lifecycle: one kind for each state that a machine enters, and the results of its effects.

import { type Static, Type } from 'typebox';
import { EFFECT_KINDS } from '../effect.ts';
import { FAILED_STEPS, LIFECYCLE_STATES, type Lifecycle, type LifecycleState } from '../lifecycle.ts';
import { also, type EventRow, flag, nullable, number, optional, rowsOf, text } from './event-row.ts';

const row = rowsOf('machines');
const state = Type.Enum([...LIFECYCLE_STATES]);
const effect = Type.Enum([...EFFECT_KINDS]);

/** The stored form of a `Lifecycle` in events and audit entries. */
const LifecycleData = Type.Object({
  state,
  since: number,
  deadline: nullable(number),
  resume: nullable(state),
  failure: nullable(Type.Object({ step: Type.Enum([...FAILED_STEPS]), reason: text })),
  note: nullable(text),
  fallback_used: flag,
});
type LifecycleData = Static<typeof LifecycleData>;

export const lifecycleData = (lifecycle: Lifecycle): LifecycleData => ({
  state: lifecycle.state,
  since: lifecycle.since,
  deadline: lifecycle.deadline,
  resume: lifecycle.resume,
  failure: lifecycle.failure && { step: lifecycle.failure.step, reason: lifecycle.failure.reason },
  note: lifecycle.note,
  fallback_used: lifecycle.fallbackUsed,
});

/** The cause of a failure: the machine rebooted before its work was finished, or its boot loader could not start it. */
const FAILURE_CAUSES = ['restarted', 'boot-failed'] as const;
export type FailureCause = (typeof FAILURE_CAUSES)[number];

const moved = {
  event: text,
  before: LifecycleData,
  after: LifecycleData,
  cause: optional(Type.Enum([...FAILURE_CAUSES])),
};
const Moved = Type.Object(moved);
type MovedData = Static<typeof Moved>;

function movedSentence({ event, before, after }: MovedData, actor: string): string {
  const failure = after.state === 'failed' && after.failure ? `: ${after.failure.step}, ${after.failure.reason}` : '';
  const again = before.state === after.state ? 'remains' : 'is now';
  const note = failure === '' ? also(after.note, (words) => `: ${words}`) : '';
  return `State ${again} ${after.state} (${event} by ${actor})${failure}${note}`;
}

const SEVERITY = { failed: 'error', quarantined: 'warning' } as const;

type StateRows = { readonly [State in LifecycleState as `lifecycle.${State}`]: EventRow<typeof Moved> };
const STATE_ROWS = Object.fromEntries(
  LIFECYCLE_STATES.map((name) => [
    `lifecycle.${name}`,
    row(name === 'failed' || name === 'quarantined' ? SEVERITY[name] : 'info', moved, movedSentence),
  ]),
) as unknown as StateRows;

const inState = { state };

export const MACHINE_EVENTS = {
  ...STATE_ROWS,
  'lifecycle.unexpected': row(
    'warning',
    { event: text, state, reason: text },
    (data, actor) => `Rejected ${data.event} by ${actor}: ${data.reason}`,
  ),
  'effect.superseded': row(
    'info',
    { effect, state },
    (data) => `Effect ${data.effect} is no longer needed: the state is ${data.state}`,
  ),
  'effect.failed': row(
    'error',
    { effect, attempts: number, reason: text },
    (data) => `Effect ${data.effect} failed after ${data.attempts} attempts: ${data.reason}`,
  ),
  'identity.revoked': row('info', inState, (data) => `API tokens of the node are revoked: the state is ${data.state}`),
  'enrollment.revoked': row('info', inState, (data) => `Certificates are revoked: the state is ${data.state}`),
  'health.unknown': row('info', inState, (data) => `Heartbeats are no longer expected: the state is ${data.state}`),
};
