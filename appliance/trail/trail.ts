// What the servers tell of each exchange. Telling never fails and never waits: the story must not slow the boot down.

import type { BootEventKind, EventData } from '../domain/events/event-table.ts';
import type { Mac } from '../domain/mac.ts';
import type { MachineId } from '../domain/machine.ts';

interface NoteFrame {
  readonly mac: Mac | null;
  readonly machine: MachineId | null;
  /** A firmware's first packet: whatever came before belongs to an earlier boot. */
  readonly beginsAttempt?: boolean;
  /** About the network, not about whoever sent the packet: strangers' packets do not crowd it out. */
  readonly ofTheSite?: boolean;
}

/** An event of a boot. The trail adds when it was, which attempt it belongs to, and the MAC address to its data. */
export type TrailNoteOf<Kind extends BootEventKind> = Kind extends BootEventKind
  ? NoteFrame & { readonly kind: Kind; readonly data: Omit<EventData<Kind>, 'mac'> }
  : never;
export type TrailNote = TrailNoteOf<BootEventKind>;

/** For a kind that is a parameter: the compiler does not see that `kind` and `data` belong together. */
export const trailNote = <Kind extends BootEventKind>(
  frame: NoteFrame,
  kind: Kind,
  data: Omit<EventData<Kind>, 'mac'>,
): TrailNote => ({ ...frame, kind, data }) as unknown as TrailNote;

export interface Trail {
  note(note: TrailNote): void;
}

/** Hears every note, also those that are not written down because there are too many. */
export interface ObservableTrail {
  /** The observer must be quick and must not fail. Returns the way to end it. */
  observe(observer: (note: TrailNote) => void): () => void;
}
