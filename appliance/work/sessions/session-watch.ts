// What the lifecycle wants to know of sessions: how far one had come, and that a machine has left one behind.

import { ColdironError } from '../../domain/errors.ts';
import type { Instant } from '../../domain/instant.ts';
import type { IntentKind } from '../../domain/intent.ts';
import { intentNeeded, runsSession } from '../../domain/lifecycle.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Session } from '../../domain/session.ts';
import { STATES } from '../../domain/states.ts';
import { APPLIANCE } from '../../machines/record.ts';
import type { LifecycleRunner } from '../../machines/runner.ts';
import type { LifecycleEvent } from '../../machines/transitions.ts';
import type { Store } from '../../store/store.ts';
import { lastHeard } from './last-heard.ts';

interface Log {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type SessionReads = Pick<Store, 'sessionsOf'>;

/** The newest session of the machine's stay in its state; null: there was none. */
export async function sessionOfStay(store: SessionReads, { id, lifecycle }: Machine): Promise<Session | null> {
  const [newest] = await store.sessionsOf(id, 1);
  return newest && newest.ticketMadeAt >= lifecycle.since ? newest : null;
}

export const heardOf =
  (store: SessionReads, now: () => Instant) =>
  async (machine: Machine): Promise<string | undefined> =>
    runsSession(machine.lifecycle.state) ? lastHeard(await sessionOfStay(store, machine), now()) : undefined;

const DONE: Readonly<Record<IntentKind, string>> = { deploy: 'installed', erase: 'erased' };

/**
 * An installation or an erasure whose machine boots once more has been cut off, and what was armed is used up: it is told at
 * once, not at the deadline.
 */
export function failOnRestart(
  store: SessionReads & Pick<Store, 'endSessionsOf'>,
  runner: Pick<LifecycleRunner, 'request'>,
  refreshFleet: () => Promise<void>,
  now: () => Instant,
  log: Log,
): (machine: Machine) => void {
  const underWay = new Set<MachineId>();

  const fail = async (machine: Machine, kind: IntentKind, event: LifecycleEvent): Promise<void> => {
    const { id, spec } = machine;
    underWay.add(id);
    try {
      const session = await sessionOfStay(store, machine);
      const failureReason = `restarted before it was ${DONE[kind]}: ${lastHeard(session, now())}`;
      await runner.request(id, event, {
        actor: APPLIANCE,
        correlationId: session?.id ?? null,
        failureReason,
        failureCause: 'restarted',
      });
      await store.endSessionsOf(id, 'failed', now(), failureReason);
      await refreshFleet();
      log.warn({ node: spec.hostname, reason: failureReason }, 'a machine restarted in the middle of its work');
    } catch (error) {
      // Its outcome, or its deadline, came first.
      if (error instanceof ColdironError && error.code === 'conflict') return;
      log.error({ err: error, node: spec.hostname }, 'a restart could not be written down; the deadline will tell');
    } finally {
      underWay.delete(id);
    }
  };

  return (machine) => {
    const { state, fallbackUsed } = machine.lifecycle;
    if (underWay.has(machine.id) || fallbackUsed) return;
    const kind = intentNeeded(state);
    const event = STATES[state].session?.failed;
    if (kind !== null && event) void fail(machine, kind, event);
  };
}
