// Stored SSH keys, key sets and default key sets, with all their versions.

import type { AccessKind, AccessObjects, AccessVersion } from '../domain/access-object.ts';
import type { NewAuditEntry, NewEvent } from '../domain/event.ts';
import type { Instant } from '../domain/instant.ts';

export interface NewAccessVersion<Kind extends AccessKind> {
  readonly kind: Kind;
  readonly name: string;
  /** The version that the decision is based on; 0: there is none. */
  readonly after: number;
  readonly at: Instant;
  readonly value: AccessObjects[Kind];
  readonly events: readonly NewEvent[];
  readonly audit: NewAuditEntry;
}

/** Each method is one transaction, as `store.ts` promises. */
export interface AccessStore {
  /** The newest version of every object of this kind, by name. */
  accessObjects<Kind extends AccessKind>(kind: Kind): Promise<AccessVersion<Kind>[]>;
  /** The newest first. */
  accessVersions<Kind extends AccessKind>(kind: Kind, name: string, limit: number): Promise<AccessVersion<Kind>[]>;
  /**
   * Writes the next version with its events and audit entry. `version_conflict` when the object has changed since it was read,
   * `conflict` when there are too many objects of this kind.
   */
  putAccessVersion<Kind extends AccessKind>(version: NewAccessVersion<Kind>): Promise<AccessVersion<Kind>>;
}
