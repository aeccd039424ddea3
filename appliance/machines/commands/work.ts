// The commands that operators run on a node. A destructive one is armed by name, for one chassis, in the same change.

import type { Origin } from '../../domain/event.ts';
import { MINUTE } from '../../domain/instant.ts';
import type { ArmedIntent, IntentId } from '../../domain/intent.ts';
import { intentNeeded, type LifecycleState } from '../../domain/lifecycle.ts';
import { type Machine, macsOf } from '../../domain/machine.ts';
import type { ObjectName } from '../../domain/names.ts';
import { STATES } from '../../domain/states.ts';
import type { Write } from '../../store/change.ts';
import { verbThatEnds } from '../leave-hint.ts';
import { step } from '../step.ts';
import { type CommandContext, type Decision, refused } from './decision.ts';
import { moved } from './move.ts';
import { unerasedProblems } from './unerased.ts';

export interface Deploy {
  /** Null: neither the command nor the node names a profile. */
  readonly profile: ObjectName | null;
  /** The time limit of a deployment in this profile. */
  readonly minutes: number;
  /** Everything that would stop the deployment later. */
  readonly problems: readonly string[];
  readonly origin: Origin;
}

/** `not_deployable` lists every reason. */
export function deploy(machine: Machine, command: Deploy, context: CommandContext): Decision {
  const { profile, minutes, origin } = command;
  const found = profile === null ? ['it has no profile: declare one, or name one'] : command.problems;
  const problems = [...new Set([...found, ...unerasedProblems(machine)])];
  if (problems.length > 0) return refused('not_deployable', `${machine.spec.hostname} cannot be deployed`, problems);
  const within = { ...context, deployMinutes: minutes };
  return withIntent(machine, { kind: 'deploy', profile, minutes, event: 'deploy', origin }, within);
}

export interface StartServiceOs {
  /** Why the machine could not start the service OS, or could not be used in it. */
  readonly problems: readonly string[];
  readonly origin: Origin;
}

export function release(machine: Machine, { problems, origin }: StartServiceOs, context: CommandContext): Decision {
  const refusal = cannotStart(machine, 'release', problems, context);
  if (refusal) return refusal;
  const minutes = Number(STATES.releasing.deadline);
  return withIntent(machine, { kind: 'erase', profile: null, minutes, event: 'release', origin }, context);
}

export function startServiceOs(
  machine: Machine,
  event: 'commission' | 'rescue',
  { problems, origin }: StartServiceOs,
  context: CommandContext,
): Decision {
  return cannotStart(machine, event, problems, context) ?? moved(machine, { event, origin }, context);
}

/** Whether the intent was consumed decides whether data may have been written. An enrollment has no intent: its token is revoked. */
export function cancel(machine: Machine, origin: Origin, context: CommandContext): Decision {
  const { spec, lifecycle, intent } = machine;
  if (!STATES[lifecycle.state].cancellable) {
    const verb = verbThatEnds(lifecycle.state);
    const hint = verb === null ? undefined : `To end this state: coldiron ${verb} ${spec.hostname}`;
    return refused('conflict', `${spec.hostname} is ${lifecycle.state}: there is nothing to cancel`, [], hint);
  }
  const begun = intentNeeded(lifecycle.state) !== null && intent !== null && intent.consumedAt !== null;
  const when = begun ? 'after it had begun' : `before ${NOT_DONE[lifecycle.state] ?? 'anything was written'}`;
  const failureReason = `cancelled by ${origin.actor}, ${when}`;
  const writes: Write[] = [{ kind: 'end-sessions', end: { how: 'cancelled', at: context.now, reason: failureReason } }];
  return moved(machine, { event: begun ? 'break-off' : 'cancel', origin, failureReason, also: { writes } }, context);
}

/** What a cancelled state had not reached; in the others, nothing was written. */
const NOT_DONE: Readonly<Partial<Record<LifecycleState, string>>> = { enrolling: 'the installed system had enrolled' };

/** The transition table first: an event that is not possible from this state needs no further reasons. */
function cannotStart(
  machine: Machine,
  event: 'commission' | 'rescue' | 'release',
  problems: readonly string[],
  { now }: CommandContext,
): Decision | null {
  const possible = step(machine.lifecycle, event, { now, profileDeployMinutes: null }).moved;
  if (!possible || problems.length === 0) return null;
  const message = `${machine.spec.hostname} cannot be ${PAST[event]}: ${problems.join('; ')}`;
  return refused('conflict', message, problems.length > 1 ? problems : []);
}

const PAST = { commission: 'commissioned', rescue: 'rescued', release: 'released' } as const;

interface ArmedWork extends Pick<ArmedIntent, 'kind' | 'profile'> {
  readonly minutes: number;
  readonly event: 'deploy' | 'release';
  readonly origin: Origin;
}

function withIntent(machine: Machine, work: ArmedWork, context: CommandContext): Decision {
  const { hostname } = machine.spec;
  const uuid = machine.spec.uuid ?? machine.hardware.bound?.uuid ?? null;
  const { kind, profile, event, origin } = work;
  const { now: at, id } = context;
  const macs = macsOf(machine.spec);
  const arm: ArmedIntent = {
    id: id as IntentId,
    kind,
    machine: machine.id,
    macs,
    uuid,
    profile,
    actor: origin.actor,
    armedAt: at,
    expiresAt: at + work.minutes * MINUTE,
    consumedAt: null,
    revokedAt: null,
  };
  // Open sessions end with it: the next script gets a new ticket.
  const end = { how: 'cancelled', at, reason: `replaced by ${event}` } as const;
  const decision = moved(machine, { event, origin, also: { arm, writes: [{ kind: 'end-sessions', end }] } }, context);
  if (decision.outcome === 'change' && macs.length === 0) {
    return refused('conflict', `${hostname} has no MAC address, so nothing can be armed for it`);
  }
  return decision;
}
