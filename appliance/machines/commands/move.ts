// One event of the transition table as a change. Every other command that moves a machine uses it.

import { allocationText } from '../../domain/allocation.ts';
import type { EffectId } from '../../domain/effect.ts';
import type { NewAuditEntry, NewEvent, Origin } from '../../domain/event.ts';
import type { FailureCause } from '../../domain/events/machine-events.ts';
import type { Instant } from '../../domain/instant.ts';
import type { ArmedIntent } from '../../domain/intent.ts';
import { isInUse, type LifecycleState } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Write } from '../../store/change.ts';
import { leaveHint } from '../leave-hint.ts';
import { movedAudit, movedEvent, unexpectedEvent } from '../record.ts';
import { step } from '../step.ts';
import type { LifecycleEvent } from '../transitions.ts';
import { type CommandContext, type Decision, emptyChange, refused } from './decision.ts';
import { identityRevocation } from './identity.ts';
import { withErasureMark } from './unerased.ts';

export interface Move {
  readonly event: LifecycleEvent;
  readonly origin: Origin;
  readonly failureReason?: string | undefined;
  /** For the diagnosis; `failureReason` is for people. */
  readonly failureCause?: FailureCause | undefined;
  /** How far it had come at its deadline. */
  readonly lastHeard?: string | undefined;
  /** The time limit of the next state, where it is not that of the table. */
  readonly minutes?: number | undefined;
  /** Committed with the transition. */
  readonly also?: {
    readonly arm?: ArmedIntent;
    readonly writes?: readonly Write[];
    readonly events?: readonly NewEvent[];
    readonly audit?: readonly NewAuditEntry[];
  };
}

/** What people may not do to a node that somebody uses. A quarantine is not among them: it protects the others. */
const TAKES_FROM_USER: ReadonlySet<LifecycleEvent> = new Set<LifecycleEvent>([
  ...(['retire', 'remove', 'drain', 'release', 'deploy', 'commission'] as const),
]);

export function moved(machine: Machine, move: Move, context: CommandContext): Decision {
  const { event, origin, also = {} } = move;
  const { now: at, id } = context;
  const happening = { at, machine, event, origin, failureCause: move.failureCause };
  const result = step(machine.lifecycle, event, {
    now: at,
    profileDeployMinutes: context.deployMinutes,
    note: origin.note,
    failureReason: move.failureReason,
    lastHeard: move.lastHeard,
    minutes: move.minutes,
  });
  const { allocation, spec } = machine;
  if (allocation && TAKES_FROM_USER.has(event) && (result.moved || event === 'remove')) {
    const hint = `Release it first: coldiron allocations release ${allocation.id}`;
    return refused('node_in_use', `${spec.hostname} is in use: ${allocationText(allocation)} holds it`, [], hint);
  }
  if (!result.moved) {
    const leaves = event === 'retire' || event === 'remove';
    const code = refusalCode(event, machine.lifecycle.state);
    const message = `${machine.spec.hostname}: ${result.reason}`;
    const events = [unexpectedEvent(happening, result.reason)];
    const hint = leaves ? leaveHint(event, machine.lifecycle.state, machine.spec.hostname) : undefined;
    return { outcome: 'refused', refusal: { code, message, details: [], hint, events } };
  }
  // Nothing could be scheduled on a node whose agent is not there. `unknown`: nothing speaks against it.
  if (event === 'reactivate' && result.lifecycle.state === 'active' && machine.health === 'silent') {
    const hint = `Start its agent, or find out why: coldiron diagnose ${spec.hostname}. After its next report, reactivate it.`;
    return refused('conflict', `${spec.hostname} cannot be reactivated: its agent has stopped reporting`, [], hint);
  }
  const { lifecycle, effects, revokesIdentity } = result;
  const intent = also.arm ? armed(machine, also.arm, origin) : revoked(machine, lifecycle.state, origin, at);
  const identity: Write[] = revokesIdentity
    ? [{ kind: 'revoke-identity', revocation: identityRevocation(machine, lifecycle.state, at, origin.correlationId) }]
    : [];
  return {
    outcome: 'change',
    change: {
      ...emptyChange(machine, at),
      lifecycle,
      effects: effects.map((kind, index) => ({
        id: `${id}.${index + 1}` as EffectId,
        machine: machine.id,
        kind,
        correlationId: origin.correlationId,
      })),
      writes: [
        ...withErasureMark(machine, event, machine.lifecycle.note ?? 'no reason was given', at, also.writes ?? []),
        ...intent.writes,
        ...identity,
        ...cancelledTasks(machine, lifecycle.state, origin, at),
      ],
      events: [...(also.events ?? []), ...intent.events, movedEvent(happening, lifecycle)],
      audit: [...(also.audit ?? []), ...intent.audit, ...movedAudit(happening, lifecycle)],
    },
  };
}

/** A refused retirement and a refused removal have other remedies, and so other codes. */
function refusalCode(event: LifecycleEvent, state: LifecycleState): 'node_in_use' | 'not_retired' | 'conflict' {
  if (event === 'remove' && state !== 'removed') return 'not_retired';
  return event === 'retire' && isInUse(state) ? 'node_in_use' : 'conflict';
}

/** Of a drain and its undoing only the newer one counts: a task for the other that still waits must not hold up the node. */
function cancelledTasks({ lifecycle }: Machine, state: LifecycleState, origin: Origin, at: Instant): Write[] {
  if (state === lifecycle.state) return [];
  const reason = `the node is now ${state}`;
  if (state === 'draining') {
    return [{ kind: 'cancel-tasks', cancellation: { task: 'undrain', which: 'waiting', at, origin, reason } }];
  }
  // A drain that the node may have started has to be undone; `identity/drains.ts` does both.
  return lifecycle.state === 'draining'
    ? [{ kind: 'cancel-tasks', cancellation: { task: 'drain', which: 'never-started', at, origin, reason } }]
    : [];
}

interface IntentPart {
  readonly writes: readonly Write[];
  readonly events: readonly NewEvent[];
  readonly audit: readonly NewAuditEntry[];
}

function armed({ id, spec }: Machine, intent: ArmedIntent, { actor, correlationId }: Origin): IntentPart {
  const { kind, profile, armedAt: at, expiresAt, macs, uuid } = intent;
  const terms = { intent: intent.id, kind, profile, macs, uuid, expires_at: expiresAt };
  const target = `node:${spec.hostname}`;
  return {
    writes: [{ kind: 'arm-intent', intent }],
    events: [{ at, kind: 'intent.armed', actor, machine: id, correlationId, data: terms }],
    audit: [{ at, actor, action: 'intent.armed', target, correlationId, before: null, after: terms }],
  };
}

/** An intent lasts from the transition that armed it to the next one. */
function revoked(
  { id, intent }: Machine,
  state: LifecycleState,
  { actor, correlationId }: Origin,
  at: ArmedIntent['armedAt'],
): IntentPart {
  if (!intent || intent.consumedAt !== null || intent.revokedAt !== null) return { writes: [], events: [], audit: [] };
  const data = { intent: intent.id, state };
  return {
    writes: [{ kind: 'revoke-intents', at }],
    events: [{ at, kind: 'intent.revoked', actor, machine: id, correlationId, data }],
    audit: [],
  };
}
