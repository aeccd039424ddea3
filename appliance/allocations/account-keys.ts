// Which SSH keys open the account of an allocation, pure.

import type { AccessVersion } from '../domain/access-object.ts';
import type { Allocation } from '../domain/allocation.ts';
import type { ObjectName } from '../domain/names.ts';
import { type KeyBook, keyLines } from './key-sets.ts';

export interface AccessState {
  readonly book: KeyBook;
  /** Without removed ones. */
  readonly sets: readonly AccessVersion<'key-set'>[];
  readonly sites: readonly AccessVersion<'site-keys'>[];
}

/** The key set of the allocation replaces the default: the keys of the user and the default key set of the site. */
export function accountKeys(
  { user, keySet, site }: Pick<Allocation, 'user' | 'keySet'> & { readonly site: ObjectName | null },
  { book, sets, sites }: AccessState,
): string[] {
  const linesOf = (name: string | null | undefined): string[] =>
    keyLines(sets.find((set) => set.name === name)?.value.keys ?? [], book);
  if (keySet !== null) return linesOf(keySet);
  const own = [...book.values()]
    .filter((key) => key.owner === (user as string) && !key.removed)
    .map(({ line }) => line);
  const standard = linesOf(sites.find(({ name }) => name === site)?.value.keySet);
  return [...new Set([...own, ...standard])].sort();
}
