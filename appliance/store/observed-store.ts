// A store that tells whether its writes succeed. Reads succeed also when the disk is full, so only writes count.

import { ColdironError } from '../domain/errors.ts';
import type { Store } from './store.ts';

export interface WriteObserver {
  /** The engine could not write: the disk is full, or reports errors. */
  readonly onFailure: (reason: string) => void;
  readonly onWritten: () => void;
}

export function observedStore(store: Store, { onFailure, onWritten }: WriteObserver): Store {
  const observed =
    <Args extends readonly unknown[], Result>(write: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      try {
        const result = await write(...args);
        onWritten();
        return result;
      } catch (error) {
        if (error instanceof ColdironError && error.code === 'store_unavailable') onFailure(error.message);
        throw error;
      }
    };
  return {
    ...store,
    commit: observed(store.commit),
    writeInventory: observed(store.writeInventory),
    commitLeases: observed(store.commitLeases),
    appendEvents: observed(store.appendEvents),
    appendAudit: observed(store.appendAudit),
    putHeartbeats: observed(store.putHeartbeats),
  };
}
