// A store that applies the limits of the trail to everything that machines cause, whichever part of the appliance writes it: their events
// in changes, and the audit entries about refused requests. What is over a limit is counted, and the count is stored.

import type { NewAuditEntry, NewEvent } from '../domain/event.ts';
import type { Change, Committed } from '../store/change.ts';
import type { Store } from '../store/store.ts';

interface Limits {
  /** False: the event is only counted. */
  admitsEvent(event: NewEvent): boolean;
  /** False: the entry is only counted. */
  admitsAudit(entry: NewAuditEntry): boolean;
}

export function limitedStore(store: Store, limits: Limits): Store {
  const events = (all: readonly NewEvent[]): readonly NewEvent[] =>
    all.filter((event) => !isFromMachine(event) || limits.admitsEvent(event));
  const audit = (all: readonly NewAuditEntry[]): readonly NewAuditEntry[] =>
    all.filter((entry) => limits.admitsAudit(entry));

  const commit = async (change: Change): Promise<Committed> => {
    // The state table limits how often a machine changes its state.
    if (change.lifecycle !== null) return store.commit(change);
    const limited = { ...change, events: events(change.events), audit: audit(change.audit) };
    if (writesAnything(limited) || !writesAnything(change)) return store.commit(limited);
    const machine = await store.machine(change.machine);
    return machine === null ? store.commit(change) : { outcome: 'committed', machine, events: [] };
  };
  return {
    ...store,
    commit,
    appendEvents: async (all) => {
      const admitted = events(all);
      if (admitted.length > 0) await store.appendEvents(admitted);
    },
    appendAudit: async (all) => {
      const admitted = audit(all);
      if (admitted.length > 0) await store.appendAudit(admitted);
    },
  };
}

const isFromMachine = ({ actor, machine }: NewEvent): boolean => machine !== null && actor.startsWith('machine:');

const writesAnything = ({ command, effects, writes, events, audit }: Change): boolean =>
  command !== null || effects.length + writes.length + events.length + audit.length > 0;
