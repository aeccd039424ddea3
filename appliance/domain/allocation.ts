// An allocation: a person uses a node for a time. The node has one account for them, with their SSH keys. What the states mean and
// how long they may last is data; the transitions are in allocations/transitions.ts.

import type { Actor } from './event.ts';
import { type Instant, MINUTE } from './instant.ts';
import type { ObjectName } from './names.ts';
import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

interface AllocationStateRow {
  readonly means: string;
  /** How long it may last; null: without limit. */
  readonly limit: Instant | null;
}

export const ALLOCATION_STATES = {
  requested: { means: 'the node is reserved; nothing was done on it', limit: 15 * MINUTE },
  provisioning: { means: 'the node creates the account', limit: 30 * MINUTE },
  active: { means: 'the user can log in', limit: null },
  releasing: { means: 'the node removes the account with its files', limit: 30 * MINUTE },
  release_failed: { means: 'the account may still be on the node, which stays reserved', limit: null },
  released: { means: 'the node is free again', limit: null },
} as const satisfies Readonly<Record<string, AllocationStateRow>>;

export type AllocationState = keyof typeof ALLOCATION_STATES;
export const ALLOCATION_STATE_NAMES = Object.keys(ALLOCATION_STATES) as readonly AllocationState[];

/** Every state but the last one keeps the node for the user. */
export const isOpen = (state: AllocationState): boolean => state !== 'released';

export type AllocationId = Branded<string, 'AllocationId'>;

export function parseAllocationId(text: string): Parsed<AllocationId> {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(text)
    ? parsed(text as AllocationId)
    : unparsable(`not the id of an allocation: ${shown(text)}`);
}

/** The name of an account that useradd(8) accepts on every system. */
export type UserName = Branded<string, 'UserName'>;

/** Never the account of an allocation, whether or not the node has it. */
const RESERVED =
  /^(?:root|daemon|bin|sys|sync|man|mail|news|proxy|backup|list|nobody|sshd|admin|coldiron|systemd-.*|_.*)$/;

export function parseUserName(text: string): Parsed<UserName> {
  if (!/^[a-z][a-z0-9_-]{0,30}$/.test(text)) {
    return unparsable(
      `not a user name (lower-case letters, digits, "_", "-", at most 31, first a letter): ${shown(text)}`,
    );
  }
  if (RESERVED.test(text)) return unparsable(`${text} is the name of a system account`);
  return parsed(text as UserName);
}

/** The file of the sudo policy on the node, as it was reviewed. */
export interface AllocationSudo {
  readonly policy: string;
  readonly version: number;
  readonly reviewer: Actor;
  readonly path: string;
  /** SHA-256 of the file, hexadecimal. */
  readonly checksum: string;
  readonly text: string;
}

export interface Allocation {
  readonly id: AllocationId;
  readonly user: UserName;
  /** Null: the keys of the user and the default keys of the site. */
  readonly keySet: ObjectName | null;
  /** What the user may run as root; null: nothing. */
  readonly sudo: AllocationSudo | null;
  readonly state: AllocationState;
  readonly since: Instant;
  /** When the event `deadline` is due. */
  readonly deadline: Instant | null;
  /** Counts the attempts to provision and to release: each has a task of its own. */
  readonly attempt: number;
  /** Why it is being released, could not be released, or was released. */
  readonly reason: string | null;
  readonly requestedAt: Instant;
  readonly requestedBy: Actor;
}

/** For messages: which allocation holds the node. */
export const allocationText = ({ id, user, state }: Allocation): string => `allocation ${id} of ${user} (${state})`;
