// The site that a verb is about: the named one, or the only one of the inventory.

import { ColdironError } from '../domain/errors.ts';
import { shown } from '../domain/parsed.ts';

export function chosenSite(names: readonly string[], asked: string | undefined): string {
  const [only, ...more] = names;
  if (asked !== undefined && !names.includes(asked))
    throw new ColdironError('not_found', `there is no site ${shown(asked)}`);
  if (only === undefined) throw new ColdironError('not_found', 'the inventory has no site');
  if (asked === undefined && more.length > 0)
    throw new ColdironError('usage', `there are several sites; name one: --at ${names.join(', or --at ')}`);
  return asked ?? only;
}
