// What the lifecycle needs from sessions: how far one had come, and that a machine rebooted during one.

import type { RequiredIdentity } from '../../domain/hardware-identity.ts';
import type { Instant } from '../../domain/instant.ts';
import type { IntentKind } from '../../domain/intent.ts';
import { intentNeeded, runsSession } from '../../domain/lifecycle.ts';
import type { Machine, MachineId } from '../../domain/machine.ts';
import type { Session } from '../../domain/session.ts';
import { STATES } from '../../domain/states.ts';
import { quarantinedAsTwin } from '../../machines/commands/hardware.ts';
import { moved } from '../../machines/commands/move.ts';
import type { MachineCommands } from '../../machines/execute.ts';
import { APPLIANCE } from '../../machines/record.ts';
import type { LifecycleEvent } from '../../machines/transitions.ts';
import type { Store } from '../../store/store.ts';
import { lastHeard } from './last-heard.ts';

interface Log {
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

type SessionReads = Pick<Store, 'sessionsOf'>;
type RestartReads = Pick<Store, 'sessionsOf' | 'filesTaken'>;

/** The newest session of the machine's current state visit; null: there was none. */
export async function sessionOfVisit(store: SessionReads, { id, lifecycle }: Machine): Promise<Session | null> {
  const [newest] = await store.sessionsOf(id, 1);
  return newest && newest.ticketMadeAt >= lifecycle.since ? newest : null;
}

export const lastHeardReader =
  (store: SessionReads, now: () => Instant) =>
  async (machine: Machine): Promise<string | undefined> =>
    runsSession(machine.lifecycle.state) ? lastHeard(await sessionOfVisit(store, machine), now()) : undefined;

const DOUBT =
  'its secrets had been issued, and MAC, UUID and serial number prove no identity: either it lost power, or another machine has its secrets. Clear the quarantine if it lost power, and deploy it again';

/** Nothing but a TPM or a secret through the BMC shows that the machine of the session is the one that boots now. */
const hasLeaked = async (store: RestartReads, { id, identity }: Session): Promise<boolean> =>
  identity?.level === 'bound' && (await store.filesTaken(id)).length > 0;

const DONE: Readonly<Record<IntentKind, string>> = { deploy: 'installed', erase: 'erased' };

/**
 * A machine that boots again during an installation or an erasure was interrupted, and its intent is consumed: this is
 * reported at once, not at the deadline. If its secrets were issued to a machine that proved nothing, another machine may
 * have taken its place, and the node is quarantined.
 */
export function failOnRestart(
  store: RestartReads,
  commands: Pick<MachineCommands, 'execute'>,
  required: (machine: Machine) => RequiredIdentity,
  now: () => Instant,
  log: Log,
): (machine: Machine) => void {
  const underWay = new Set<MachineId>();

  const fail = async (machine: Machine, kind: IntentKind, event: LifecycleEvent): Promise<void> => {
    const { id, spec } = machine;
    underWay.add(id);
    try {
      const session = await sessionOfVisit(store, machine);
      const failureReason = `restarted before it was ${DONE[kind]}: ${lastHeard(session, now())}`;
      const origin = { actor: APPLIANCE, correlationId: session?.id ?? null };
      const command = { machine: id, name: 'restarted', input: { event }, origin };
      const isDoubtful = required(machine) !== 'asserted' && session !== null && (await hasLeaked(store, session));
      const executed = await commands.execute(command, (current, context) => {
        if (isDoubtful) return quarantinedAsTwin(current, `${failureReason}; ${DOUBT}`, origin, context);
        const end = { how: 'failed', at: context.now, reason: failureReason } as const;
        const also = { writes: [{ kind: 'end-sessions', end } as const] };
        return moved(current, { event, origin, failureReason, failureCause: 'restarted', also }, context);
      });
      // Otherwise its outcome or its deadline came first.
      if (executed.outcome === 'done') {
        log.warn({ node: spec.hostname, reason: failureReason }, 'a machine restarted during its work');
      }
    } catch (error) {
      log.error({ err: error, node: spec.hostname }, 'a restart could not be recorded; the work fails at its deadline');
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
