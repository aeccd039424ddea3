// Effects that use the BMC. The machine's site says whether BMCs are used, only recorded, or not used.

import type { Bmc } from '../../bmc/bmc.ts';
import { BmcError } from '../../bmc/bmc-error.ts';
import type { BootReport } from '../../bmc/verified.ts';
import { ColdironError } from '../../domain/errors.ts';
import { type NewEvent, newEvent } from '../../domain/event.ts';
import type { EventData } from '../../domain/events/event-table.ts';
import type { Instant } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { APPLIANCE } from '../record.ts';
import type { BmcAccess } from './bmc-access.ts';
import { EffectError, type EffectHandler, type EffectTask } from './handler.ts';

export interface PowerSettings {
  readonly now: () => Instant;
  readonly bmcs: BmcAccess;
  readonly store: Pick<Store, 'appendEvents'>;
  /** Before each network boot: gives the machine, through its BMC, what it needs for it. */
  readonly beforeNetworkBoot?: (machine: Machine, correlationId: string | null) => Promise<void>;
}

type PowerEventKind =
  | 'bmc.skipped'
  | 'bmc.absent'
  | 'bmc.recorded'
  | 'bmc.done'
  | 'bmc.broken-off'
  | `bmc.boot-${BootReport['kind']}`;
type Says = <Kind extends PowerEventKind>(kind: Kind, data: Omit<EventData<Kind>, 'effect'>) => NewEvent;

interface PowerAction {
  /** The calls to the BMC, where its own reply is sufficient. */
  readonly run: (bmc: Bmc) => Promise<void>;
  /** For the operator who has to do it instead. */
  readonly byHand: string;
  /** The machine must be seen to boot from the network; after that, a repetition would interrupt what it started. */
  readonly untilSeen: boolean;
}

export const bootFromNetwork: PowerAction = {
  run: async (bmc) => {
    await bmc.setBoot({ device: 'network', persistent: false, firmware: null });
    await bmc.powerCycle();
  },
  byHand: 'choose network boot once and power cycle the machine by hand',
  untilSeen: true,
};

export const bootFromDisk: PowerAction = {
  run: async (bmc) => {
    await bmc.setBoot({ device: 'disk', persistent: false, firmware: null });
    await bmc.powerCycle();
  },
  byHand: 'power cycle the machine by hand; it starts from its disk',
  untilSeen: false,
};

export const powerOff: PowerAction = {
  run: (bmc) => bmc.powerOff(),
  byHand: 'switch the machine off by hand, or leave it running until it is deployed',
  untilSeen: false,
};

export function powerHandler(action: PowerAction, settings: PowerSettings): EffectHandler {
  const { bmcs } = settings;
  return async (task) => {
    const { machine } = task;
    const says = sayer(task, settings.now);

    if (action.untilSeen && (await hasBooted(machine, bmcs))) {
      return { events: [says('bmc.skipped', { reason: 'the machine has already booted from the network' })] };
    }
    const eligibility = bmcs.eligibility(machine);
    switch (eligibility.kind) {
      case 'absent':
        return { events: [says('bmc.absent', { to_do: action.byHand })] };
      case 'off-limits':
        return { events: [says('bmc.skipped', { reason: eligibility.reason, to_do: action.byHand })] };
      case 'open':
        try {
          if (eligibility.mode === 'real' && action.untilSeen) {
            await settings.beforeNetworkBoot?.(machine, task.correlationId);
            return { events: await seenToBoot(machine, settings, says) };
          }
          return { events: await runAction(action, machine, bmcs, says, eligibility.endpoint.address) };
        } catch (error) {
          throw asEffectError(error);
        }
    }
  };
}

/** The intent is consumed, or the trail shows the boot: a second network boot would interrupt the installation. */
async function hasBooted(machine: Machine, bmcs: BmcAccess): Promise<boolean> {
  const { intent, lifecycle } = machine;
  if (intent?.consumedAt != null && intent.consumedAt >= lifecycle.since) return true;
  return bmcs.bootedSince(machine, lifecycle.since);
}

async function runAction(
  action: PowerAction,
  machine: Machine,
  bmcs: BmcAccess,
  says: Says,
  address: string,
): Promise<NewEvent[]> {
  const recorded: NewEvent[] = [];
  await bmcs.using(machine, (what) => void recorded.push(says('bmc.recorded', { action: what, address })), action.run);
  return recorded.length > 0 ? recorded : [says('bmc.done', { address })];
}

/** Each attempt may take minutes, so it is in the trail before the next one. */
async function seenToBoot(machine: Machine, { bmcs, store }: PowerSettings, says: Says): Promise<NewEvent[]> {
  const outcome = await bmcs.bootFromNetwork(machine, ({ kind, ...data }) =>
    store.appendEvents([says(`bmc.boot-${kind}`, data)]),
  );
  return outcome.kind === 'seen' ? [] : [says('bmc.broken-off', { reason: outcome.reason })];
}

/** A busy or unreachable BMC may recover; a wrong password stays wrong until an operator changes it. */
function asEffectError(error: unknown): unknown {
  if (error instanceof BmcError) return new EffectError(error.message, { retryable: error.retryable });
  if (!(error instanceof ColdironError) || error.code === 'store_unavailable') return error;
  return new EffectError(error.message, { retryable: false });
}

function sayer({ machine, correlationId, effect }: EffectTask, now: () => Instant): Says {
  return <Kind extends PowerEventKind>(kind: Kind, data: Omit<EventData<Kind>, 'effect'>) => {
    const frame = { at: now(), actor: APPLIANCE, machine: machine.id, correlationId };
    // Every one of these kinds has an `effect`, which the compiler cannot see through the parameter.
    return newEvent(frame, kind, { effect: effect.kind, ...data } as unknown as EventData<Kind>);
  };
}
