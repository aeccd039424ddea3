// What each machine was last given, so that people can see what has changed since. Texts that are not secret, and of every file
// its hash.

import type { NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';

export interface DeliveredFile {
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  readonly sha256: string;
  /** Null: it is secret, and nobody keeps it. */
  readonly text: string | null;
}

export interface DeliveredRendering {
  readonly machine: MachineId;
  readonly at: Instant;
  /** `order`: to a machine that was being installed. `folder`: to somebody who installs it. */
  readonly by: 'order' | 'folder';
  /** The revision of what was declared. */
  readonly inventoryRevision: number;
  readonly files: readonly DeliveredFile[];
}

/** Each verb is one transaction, as `store.ts` promises. */
export interface RenderingStore {
  /** Takes the place of the one before. */
  putRendering(rendering: DeliveredRendering, event: NewEvent): Promise<void>;
  renderingOf(machine: MachineId): Promise<DeliveredRendering | null>;
}
