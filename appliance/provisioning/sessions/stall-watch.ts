// Records once that the work of a machine stands still, also when its reports have stopped: a machine without power reports nothing.

import type { Instant } from '../../domain/instant.ts';
import { runsSession } from '../../domain/lifecycle.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Store } from '../../store/store.ts';
import { newlyStalled } from './progress.ts';
import { sessionStalled } from './session-commands.ts';
import { sessionOfVisit } from './session-watch.ts';

export const stallWatch =
  (store: Pick<Store, 'sessionsOf' | 'commit'>, now: () => Instant) =>
  async (machines: Iterable<Machine>): Promise<void> => {
    for (const machine of machines) {
      if (!runsSession(machine.lifecycle.state)) continue;
      const session = await sessionOfVisit(store, machine);
      const progress = session?.ended === null ? newlyStalled(session.last, now()) : null;
      // The store refuses it when a report has come in between.
      if (session && progress)
        await store.commit(sessionStalled({ at: now(), machine, correlationId: session.id }, session, progress));
    }
  };
