// Handlers of terminals.

import type { Static } from 'typebox';
import type { TERMINAL_OPERATIONS } from '../../contract/operations/terminals.ts';
import type { Terminal as TerminalView } from '../../contract/schemas/terminal.ts';
import { TERMINAL_PROTOCOL } from '../../contract/terminal-frames.ts';
import type { Terminal } from '../../terminals/terminal.ts';
import { callerOf } from '../caller.ts';
import { findNode } from '../find-node.ts';
import { type Handlers, RawAnswer } from '../handler.ts';
import { timeText } from '../views/time-text.ts';

const view = ({ about, openedAt, typedAt, typedBytes, shownBytes }: Terminal): Static<typeof TerminalView.schema> => ({
  id: about.id,
  node: about.hostname,
  allocation: about.allocation,
  user: about.user,
  opened_by: about.origin.actor,
  opened_at: timeText(openedAt),
  typed_at: timeText(typedAt),
  typed_bytes: typedBytes,
  shown_bytes: shownBytes,
});

export const terminalHandlers: Handlers<keyof typeof TERMINAL_OPERATIONS> = {
  async openNodeTerminal(deps, call) {
    const { allocation = null, rows = 24, columns = 80, term = 'xterm-256color' } = call.query;
    const takeStream = call.upgrade(TERMINAL_PROTOCOL);
    const machine = await findNode(deps, call.params.node);
    const wish = { allocation, term, gone: call.gone() };
    const terminal = await deps.terminals.open(machine, wish, callerOf(call));
    const { id, hostname: node, user } = terminal.about;
    call.log.info({ node, terminal: id, user, actor: call.origin.actor }, 'terminal opened');
    const { because, status } = await terminal.carry(takeStream(), { rows, columns });
    call.log.info({ node, terminal: id, user, because, status }, 'terminal closed');
    return new RawAnswer(101, 'taken-over');
  },

  async listTerminals(deps, { query: { node } }) {
    const machine = node === undefined ? null : await findNode(deps, node);
    const listed = deps.terminals.list().filter(({ about }) => machine === null || about.machine === machine.id);
    return { terminals: listed.map(view) };
  },

  closeTerminal: async (deps, call) => view(await deps.terminals.close(call.params.terminal, callerOf(call))),
};
