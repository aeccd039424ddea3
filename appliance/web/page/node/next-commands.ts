// Commands that a sentence of the appliance names, such as "run `coldiron deploy node05`", as buttons.

import type { CommandId } from '../../../contract/commands.ts';
import { NODE_COMMANDS } from '../../../contract/commands.ts';

/** In the order of the text, each once. */
export function commandsIn(text: string): CommandId[] {
  const found = Object.entries(NODE_COMMANDS).flatMap(([id, { cli }]) => {
    const at = text.search(new RegExp(`\\bcoldiron ${cli.verb.replace('-', '\\-')}(?![\\w-])`));
    return at === -1 ? [] : [{ id: id as CommandId, at }];
  });
  return found.toSorted((a, b) => a.at - b.at).map(({ id }) => id);
}
