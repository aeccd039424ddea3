// A store whose writes are measured, from the call until the change is on disk.

import { ColdironError } from '../domain/errors.ts';
import type { NewEvent } from '../domain/event.ts';
import type { Store } from '../store/store.ts';

interface StoreMeter {
  readonly wrote: (write: string, ms: number, ok: boolean) => void;
  readonly appended: (events: readonly NewEvent[]) => void;
}

export function measuredStore(store: Store, { wrote, appended }: StoreMeter, elapsed: () => number): Store {
  const measured =
    <Args extends readonly unknown[], Result>(name: string, write: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const began = elapsed();
      try {
        const result = await write(...args);
        wrote(name, elapsed() - began, true);
        return result;
      } catch (error) {
        // A refused write is an answer; one that the engine could not do is a failure.
        const isFailure = !(error instanceof ColdironError) || error.code === 'store_unavailable';
        wrote(name, elapsed() - began, !isFailure);
        throw error;
      }
    };
  const appendEvents = measured('events', store.appendEvents);
  return {
    ...store,
    commit: measured('commit', store.commit),
    writeInventory: measured('inventory', store.writeInventory),
    commitLeases: measured('leases', store.commitLeases),
    putHeartbeats: measured('heartbeats', store.putHeartbeats),
    appendEvents: async (events) => {
      await appendEvents(events);
      appended(events);
    },
  };
}
