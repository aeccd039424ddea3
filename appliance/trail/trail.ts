// The interface through which the boot servers record events. Recording never fails and never blocks: it must not slow a boot.

import type { BootEventKind, EventData } from '../domain/events/event-table.ts';
import type { Mac } from '../domain/mac.ts';
import type { MachineId } from '../domain/machine.ts';

interface NoteFrame {
  readonly mac: Mac | null;
  readonly machine: MachineId | null;
  /** The first packet of a firmware: earlier events belong to an earlier boot. */
  readonly beginsAttempt?: boolean;
  /** About the network, not about the sender of the packet: it has its own rate limit, which floods of unknown machines do not use up. */
  readonly siteWide?: boolean;
}

/** An event of a boot. The trail adds the time, the id of the boot attempt, and the MAC address in its data. */
export type TrailNoteOf<Kind extends BootEventKind> = Kind extends BootEventKind
  ? NoteFrame & { readonly kind: Kind; readonly data: Omit<EventData<Kind>, 'mac'> }
  : never;
export type TrailNote = TrailNoteOf<BootEventKind>;

/** For a generic `Kind`: the compiler cannot infer that `kind` and `data` belong together. */
export const trailNote = <Kind extends BootEventKind>(
  frame: NoteFrame,
  kind: Kind,
  data: Omit<EventData<Kind>, 'mac'>,
): TrailNote => ({ ...frame, kind, data }) as unknown as TrailNote;

export interface Trail {
  note(note: TrailNote): void;
}

/** Observers get every note, including those that are dropped by a rate limit. */
export interface ObservableTrail {
  /** The observer must return quickly and must not throw. Returns unsubscribe. */
  observe(observer: (note: TrailNote) => void): () => void;
}
