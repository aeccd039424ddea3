// Events of a machine that is being onboarded belong to its run: they carry the id of the run, and its correlation id unless a person caused
// them. Whoever writes an event does not need to know about runs.

import type { Actor, NewEvent } from '../../domain/event.ts';
import type { MachineId } from '../../domain/machine.ts';
import type { Reader } from './transaction.ts';

interface OpenRun {
  readonly id: string;
  readonly correlation_id: string | null;
}

export interface EventLabels {
  readonly correlationId: string | null;
  readonly onboarding: string | null;
}

/** Looks each machine up once. */
export async function eventLabels(db: Reader, events: readonly NewEvent[]): Promise<(event: NewEvent) => EventLabels> {
  const machines = [...new Set(events.flatMap(({ machine }) => machine ?? []))];
  const runs = new Map<MachineId, OpenRun>();
  for (const machine of machines) {
    const run = await db
      .selectFrom('onboardings')
      .select(['id', 'correlation_id'])
      .where('machine', '=', machine)
      .where('open_host', 'is not', null)
      .executeTakeFirst();
    if (run) runs.set(machine, run);
  }
  return (event) => {
    const run = event.machine === null ? undefined : runs.get(event.machine);
    const data: unknown = event.data;
    const named = typeof data === 'object' && data !== null && 'onboarding' in data ? data.onboarding : undefined;
    return {
      correlationId: run && !isPerson(event.actor) ? run.correlation_id : event.correlationId,
      onboarding: event.onboarding ?? (typeof named === 'string' ? named : (run?.id ?? null)),
    };
  };
}

/** `token:ci`, `local:root`: a request of its own, with its own id. */
const isPerson = (actor: Actor): boolean => !/^(?:appliance$|network$|machine:|mac:)/.test(actor);
