// The files last delivered to each machine, to show what has changed since: the hash of every file, and the text of those that
// are not secret.

import type { NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';
import type { MachineId } from '../domain/machine.ts';

export interface DeliveredFile {
  readonly path: string;
  /** Permission bits. */
  readonly mode: number;
  readonly sha256: string;
  /** Null: the file is secret and its text is not stored. */
  readonly text: string | null;
}

export interface DeliveredRendering {
  readonly machine: MachineId;
  readonly at: Instant;
  /** `order`: to a machine during its installation. `folder`: to an operator who installs it. */
  readonly by: 'order' | 'folder';
  /** The declared revision of the inventory. */
  readonly inventoryRevision: number;
  readonly files: readonly DeliveredFile[];
}

/** Each method is one transaction, as `store.ts` promises. */
export interface RenderingStore {
  /** Replaces the previous one. */
  putRendering(rendering: DeliveredRendering, event: NewEvent): Promise<void>;
  renderingOf(machine: MachineId): Promise<DeliveredRendering | null>;
}
