// The objects that decide who may log in to nodes: SSH keys, key sets, and the default key set of a site. Each has versions that
// are never changed or deleted, so an earlier one can be restored.

import type { Actor } from './event.ts';
import type { Instant } from './instant.ts';
import type { ObjectName } from './names.ts';
import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

/** The first 128 bits of the SHA-256 hash of the key, in hex: safe in URLs and file names. */
export type SshKeyId = Branded<string, 'SshKeyId'>;

export function parseSshKeyId(text: string): Parsed<SshKeyId> {
  return /^[0-9a-f]{32}$/.test(text)
    ? parsed(text as SshKeyId)
    : unparsable(`not the id of an SSH key (32 hex digits): ${shown(text)}`);
}

export interface SshKey {
  /** The person whom it belongs to. */
  readonly owner: ObjectName;
  /** As in authorized_keys: type, key, comment. */
  readonly line: string;
  /** As `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
  readonly comment: string;
  /** A removed key is never written to a node again. */
  readonly removed: boolean;
}

/** A server accepted the new key: where, and with which host key. */
export interface KeyValidation {
  readonly at: Instant;
  readonly host: string;
  readonly username: string;
  readonly hostKey: string;
}

/** While it lasts, the set contains both keys. */
export interface KeyRotation {
  readonly from: SshKeyId;
  readonly to: SshKeyId;
  readonly validation: KeyValidation | null;
}

export interface KeySet {
  readonly owner: ObjectName;
  readonly keys: readonly SshKeyId[];
  readonly rotation: KeyRotation | null;
  readonly removed: boolean;
}

export interface SiteKeys {
  /** Null: the site has no default keys. */
  readonly keySet: ObjectName | null;
}

/** Which commands a user may run as root. */
export interface SudoPolicy {
  readonly owner: ObjectName;
  /** Programs with their arguments, see sudo-policy.ts. */
  readonly commands: readonly string[];
  /** Who has read this version; null: it cannot be used yet. */
  readonly review: { readonly by: Actor; readonly at: Instant; readonly checksum: string } | null;
  readonly removed: boolean;
}

export interface AccessObjects {
  readonly 'ssh-key': SshKey;
  readonly 'key-set': KeySet;
  readonly 'site-keys': SiteKeys;
  readonly 'sudo-policy': SudoPolicy;
}
export type AccessKind = keyof AccessObjects;

/** One version of an object. The first is 1. */
export interface AccessVersion<Kind extends AccessKind = AccessKind> {
  readonly kind: Kind;
  readonly name: string;
  readonly version: number;
  readonly at: Instant;
  readonly actor: Actor;
  readonly value: AccessObjects[Kind];
}

/** More keys than this in one set, or sets and keys than this in total, are a mistake. */
export const MAX_KEYS_IN_SET = 32;
export const MAX_ACCESS_OBJECTS = 10_000;
