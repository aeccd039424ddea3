// A boot loader reports that it could not start the work of its machine: the state ends at once, with iPXE's error.
//
// Anybody on the network can send such a report, so it is believed only when it names the ticket of the script that was issued last for
// this work, comes from the address that is leased to the machine (on a directly attached network: from one of its cards), and the service
// OS has not opened its session meanwhile. Everything else is a note in the trail. iPXE has tried three times itself before it reports, so
// no further attempt is waited for: a machine that boots again finds its state failed and starts from its disk.

import { newEvent } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { ipxeErrorText } from '../../domain/ipxe-error.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Session } from '../../domain/session.ts';
import { STATES } from '../../domain/states.ts';
import { type CommandContext, type Decision, NOTHING } from '../../machines/commands/decision.ts';
import { moved } from '../../machines/commands/move.ts';
import type { MachineCommands } from '../../machines/execute.ts';
import type { Store } from '../../store/store.ts';
import { type SeenAt, sourceProblem } from './openers.ts';
import { isSessionCurrent } from './session-eligibility.ts';

export interface BootFailureReport {
  /** Names the script that failed; null: the script started nothing of ours. */
  readonly boot: string | null;
  readonly data: EventData<'boot.failed'>;
}

export interface BootFailureDeps {
  readonly store: Pick<Store, 'sessionsOf'>;
  readonly commands: Pick<MachineCommands, 'execute'>;
  readonly seenAt: (address: Ipv4 | null) => SeenAt;
  readonly log: { warn(fields: object, message: string): void };
}

/** True: it ended the work, and the report is in the same commit. */
export type EndFailedBoot = (machine: Machine, report: BootFailureReport, address: Ipv4 | null) => Promise<boolean>;

export const endFailedBoot =
  ({ store, commands, seenAt, log }: BootFailureDeps): EndFailedBoot =>
  async (machine, report, address) => {
    // What is in memory first: a stranger must not make us read the store.
    if (report.boot === null || !canFail(machine) || sourceProblem(machine, seenAt(address)) !== null) return false;
    const [session] = await store.sessionsOf(machine.id, 1);
    if (session === undefined || session.id !== report.boot) return false;
    const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: session.id };
    const command = { machine: machine.id, name: 'boot-failed', input: { boot: report.boot }, origin };
    const executed = await commands.execute(command, (current, context) =>
      bootFailed(current, session, report.data, context),
    );
    if (executed.outcome !== 'done') return false;
    log.warn({ node: machine.spec.hostname, report: report.data }, 'a machine could not start its work');
    return true;
  };

/** A rescue has no failure: the operator starts it again, or ends it. */
const canFail = ({ lifecycle }: Machine): boolean => STATES[lifecycle.state].session?.failed != null;

/** Nothing, when the service OS has come up after all or the work has ended. */
export function bootFailed(
  machine: Machine,
  session: Session,
  data: EventData<'boot.failed'>,
  context: CommandContext,
): Decision {
  if (!canFail(machine) || !isSessionCurrent(machine, session)) return NOTHING;
  if (session.openedAt !== null || session.ended !== null) return NOTHING;
  const { now: at } = context;
  const origin = { actor: `machine:${machine.spec.hostname}`, correlationId: session.id };
  const failureReason = `its boot loader could not start ${data.stage ?? 'it'}: iPXE error ${ipxeErrorText(data.errno ?? 'unknown')}`;
  const end = { how: 'failed', at, reason: failureReason } as const;
  const also = {
    writes: [{ kind: 'end-sessions', end } as const],
    events: [newEvent({ at, machine: machine.id, ...origin }, 'boot.failed', data)],
  };
  return moved(machine, { event: 'boot-failed', origin, failureReason, failureCause: 'boot-failed', also }, context);
}
