// Sends one command to one node.

import type { CommandId } from '../../../contract/commands.ts';
import type { Answer } from '../../../contract/wire.ts';
import { call, type Input, newKey } from '../api.ts';
import { commandOf } from './commands.ts';

export function sendCommand(id: CommandId, node: string, note: string, key = newKey()): Promise<Answer<CommandId>> {
  const body = {
    ...(note !== '' && { note }),
    ...(commandOf(id).destroys !== null && { confirm: node }),
  };
  return call(id, { params: { node }, body } as Input<CommandId>, { key });
}
