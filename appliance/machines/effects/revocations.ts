// Taking back what a machine was trusted with.

import type { NewEvent } from '../../domain/event.ts';
import type { Instant } from '../../domain/instant.ts';
import { intentNeeded, type LifecycleState } from '../../domain/lifecycle.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import type { Store } from '../../store/store.ts';
import { APPLIANCE } from '../record.ts';
import type { EffectHandler, EffectTask } from './handler.ts';

type RevocationStore = Pick<Store, 'revokeIntents' | 'tokens' | 'revokeToken' | 'revokeIdentity' | 'setHealth'>;

/** The API token of a node carries the machine's id: the host name is free again once the machine is removed. */
export const nodeTokenName = (machine: MachineId): string => `node:${machine}`;

export function revokeIntentsHandler(store: RevocationStore, now: () => Instant): EffectHandler {
  return async (task) => {
    if (!outlived(task.machine)) return { events: [] };
    const at = now();
    await store.revokeIntents(task.machine.id, at, event(task, at, 'intent.revoked', task.machine.lifecycle.state));
    return { events: [] };
  };
}

export function revokeIdentityHandler(store: RevocationStore, now: () => Instant): EffectHandler {
  return async (task) => {
    const { machine, correlationId } = task;
    const at = now();
    const held = (await store.tokens()).filter(
      (token) => token.role === 'node' && token.name === nodeTokenName(machine.id) && token.revokedAt === null,
    );
    for (const token of held) {
      await store.revokeToken(token.id, at, {
        at,
        actor: APPLIANCE,
        action: 'token.revoked',
        target: `token:${token.name}`,
        correlationId,
        before: { revoked_at: null },
        after: { revoked_at: at },
      });
    }
    const { state } = machine.lifecycle;
    await store.revokeIdentity(machine.id, at, `the node is ${state}`, event(task, at, 'enrollment.revoked', state));
    // Whatever is heard from now on, it is not this node.
    await store.setHealth(machine.id, 'unknown', event(task, at, 'health.unknown', state));
    return { events: [event(task, at, 'identity.revoked', state)] };
  };
}

/** The kinds that say no more than in which state it was. */
type StateEventKind = 'intent.revoked' | 'enrollment.revoked' | 'health.unknown' | 'identity.revoked';

const event = (task: EffectTask, at: Instant, kind: StateEventKind, state: LifecycleState): NewEvent => ({
  at,
  kind,
  actor: APPLIANCE,
  machine: task.machine.id,
  correlationId: task.correlationId,
  data: { state },
});

/**
 * An effect runs some time after its transition. An operator may have armed the next intent by then, and that one must
 * not die for the last one: it is younger than the state, or it is what the state is about.
 */
function outlived({ intent, lifecycle }: Machine): boolean {
  if (!intent || intent.consumedAt !== null || intent.revokedAt !== null) return false;
  const needed = intentNeeded(lifecycle.state);
  if (needed !== null) return intent.kind !== needed || lifecycle.fallbackUsed;
  return !STATES[lifecycle.state].keepsNewerIntent || intent.armedAt <= lifecycle.since;
}
