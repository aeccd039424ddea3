// What the servers tell of each exchange. Telling never fails and never waits: the story must not slow the boot down.

import type { Json } from '../domain/event.ts';
import type { Mac } from '../domain/mac.ts';
import type { MachineId } from '../domain/machine.ts';

export interface TrailNote {
  /** `dhcp.offered`, `tftp.completed`, `http.served`, `boot.decided` … */
  readonly kind: string;
  readonly mac: Mac | null;
  readonly machine: MachineId | null;
  /** A firmware's first packet: whatever came before belongs to an earlier boot. */
  readonly beginsAttempt?: boolean;
  /** About the network, not about whoever sent the packet: strangers' packets do not crowd it out. */
  readonly ofTheSite?: boolean;
  readonly data: Json;
}

export interface Trail {
  note(note: TrailNote): void;
}

/** Hears every note, also those that are not written down because there are too many. */
export interface ObservableTrail {
  /** The observer must be quick and must not fail. Returns the way to end it. */
  observe(observer: (note: TrailNote) => void): () => void;
}
