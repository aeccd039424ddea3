// The decisions about key sets, pure: which version follows, or why the request is refused.

import {
  type AccessVersion,
  type KeySet,
  type KeyValidation,
  MAX_KEYS_IN_SET,
  type SshKey,
  type SshKeyId,
} from '../domain/access-object.ts';
import { ColdironError } from '../domain/errors.ts';
import type { ObjectName } from '../domain/names.ts';

/** The keys by id, removed ones included. */
export type KeyBook = ReadonlyMap<string, SshKey>;

/** What a change writes, and its sentence for the trail. */
export interface KeySetStep {
  readonly value: KeySet;
  readonly change: string;
}

/** Null: the set is as requested already. */
export function declaredSet(
  before: KeySet | null,
  owner: ObjectName,
  keys: readonly SshKeyId[],
  book: KeyBook,
): KeySetStep | null {
  const wanted = [...new Set(keys)];
  if (wanted.length === 0) throw new ColdironError('invalid_request', 'keys: a key set has at least one key');
  if (wanted.length > MAX_KEYS_IN_SET) {
    throw new ColdironError('invalid_request', `keys: at most ${MAX_KEYS_IN_SET} in one set`);
  }
  for (const id of wanted) usableKey(id, book);
  const known = before?.removed === false ? before : null;
  if (known?.rotation) throw underRotation(known);
  if (known && known.owner === owner && sameKeys(known.keys, wanted)) return null;
  return { value: { owner, keys: wanted, rotation: null, removed: false }, change: `${wanted.length} keys` };
}

export function removedSet(before: KeySet): KeySetStep {
  return { value: { ...before, keys: [], rotation: null, removed: true }, change: 'removed' };
}

/** The new key joins the old one: nobody loses access before the new one is known to work. */
export function rotationStarted(before: KeySet, from: SshKeyId, to: SshKeyId, book: KeyBook): KeySetStep | null {
  const { rotation } = before;
  if (rotation?.from === from && rotation.to === to) return null;
  if (rotation) throw underRotation(before);
  if (!before.keys.includes(from)) throw new ColdironError('conflict', `from: the key ${from} is not in this set`);
  if (from === to) throw new ColdironError('invalid_request', 'to: the new key is the old key');
  usableKey(to, book);
  const keys = before.keys.includes(to) ? before.keys : [...before.keys, to];
  if (keys.length > MAX_KEYS_IN_SET) {
    throw new ColdironError('conflict', `the set has ${MAX_KEYS_IN_SET} keys, which is the limit`);
  }
  return { value: { ...before, keys, rotation: { from, to, validation: null } }, change: `added key ${to}` };
}

export function rotationValidated(before: KeySet, to: SshKeyId, validation: KeyValidation): KeySetStep {
  const { rotation } = before;
  if (rotation?.to !== to) throw new ColdironError('conflict', 'the rotation was ended or replaced meanwhile');
  const change = `key ${to} opens ${validation.username}@${validation.host}`;
  return { value: { ...before, rotation: { ...rotation, validation } }, change };
}

export function rotationFinished(before: KeySet): KeySetStep {
  const { rotation, keys } = before;
  if (!rotation) throw new ColdironError('conflict', 'no rotation of this set has started', [], START_HINT);
  if (rotation.validation === null) {
    throw new ColdironError(
      'conflict',
      `the new key ${rotation.to} has not opened any login yet: the old key ${rotation.from} stays`,
      [],
      'Validate it first: coldiron key-sets validate SET --host HOST --user NAME',
    );
  }
  const value = { ...before, keys: keys.filter((id) => id !== rotation.from), rotation: null };
  return { value, change: `removed key ${rotation.from}` };
}

const START_HINT = 'Start one: coldiron key-sets rotate SET --from KEY --to KEY';

/**
 * The keys and the owner of an earlier version, as a new version. A rotation of that version is not continued: its validation may
 * be outdated.
 */
export function rolledBack(
  versions: readonly AccessVersion<'key-set'>[],
  target: number | undefined,
  book: KeyBook,
): KeySetStep {
  const [current] = versions;
  if (!current) throw new ColdironError('not_found', 'there is no such key set');
  const earlier = versions.find(({ version }) => version === (target ?? current.version - 1));
  if (!earlier || earlier.version === current.version) {
    throw new ColdironError(
      'conflict',
      target === undefined ? 'there is no earlier version' : `version ${target} is not an earlier version of it`,
    );
  }
  const { value } = earlier;
  if (value.removed) throw new ColdironError('conflict', `version ${earlier.version} says that the set is removed`);
  for (const id of value.keys) usableKey(id, book);
  return { value: { ...value, rotation: null }, change: `restored version ${earlier.version}` };
}

/** The lines of authorized_keys. A key that was removed meanwhile is left out. */
export const keyLines = (keys: readonly SshKeyId[], book: KeyBook): string[] =>
  keys.flatMap((id) => {
    const key = book.get(id);
    return key && !key.removed ? [key.line] : [];
  });

function usableKey(id: SshKeyId, book: KeyBook): void {
  const key = book.get(id);
  if (!key) throw new ColdironError('not_found', `there is no SSH key ${id}`, [], KEYS_HINT);
  if (key.removed)
    throw new ColdironError('conflict', `the SSH key ${id} (${key.fingerprint}) is removed`, [], KEYS_HINT);
}

const KEYS_HINT = 'List the keys: coldiron keys list';

const sameKeys = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((id) => b.includes(id));

const underRotation = ({ rotation }: KeySet): ColdironError =>
  new ColdironError(
    'conflict',
    `key ${rotation?.from} is being replaced by ${rotation?.to}`,
    [],
    'Finish the rotation (coldiron key-sets finish SET) or undo it (coldiron key-sets rollback SET).',
  );
