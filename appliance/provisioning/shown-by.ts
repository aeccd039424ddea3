// What an undeclared machine said of itself when it was inspected, or when it requested its boot script.

import { knownEvent } from '../domain/events/known-event.ts';
import type { Machine } from '../domain/machine.ts';
import type { Store } from '../store/store.ts';

export async function shownBy(
  store: Pick<Store, 'sessionsOf' | 'events'>,
  { id, spec }: Machine,
): Promise<{ readonly uuid: string | null; readonly serial: string | null }> {
  const [session] = await store.sessionsOf(id, 1);
  const shown = session?.identity?.shown ?? null;
  const scripts =
    shown === null ? await store.events({ machine: id, kind: 'http.script', limit: 1, newest: true }) : [];
  const script = scripts.flatMap((event) => knownEvent(event) ?? [])[0];
  const serial = script?.kind === 'http.script' ? (script.data.serial ?? null) : null;
  return { uuid: spec.uuid ?? shown?.uuid ?? null, serial: shown?.serial ?? spec.serial ?? serial };
}
