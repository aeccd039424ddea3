// A trail that stores nothing and only notifies its observers.

import type { ObservableTrail, Trail, TrailNote } from '../../appliance/trail/trail.ts';

export class NoteBoard implements Trail, ObservableTrail {
  readonly #observers = new Set<(note: TrailNote) => void>();

  observe(observer: (note: TrailNote) => void): () => void {
    this.#observers.add(observer);
    return () => void this.#observers.delete(observer);
  }

  note(note: TrailNote): void {
    for (const observer of this.#observers) observer(note);
  }
}
