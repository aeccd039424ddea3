// Gives one command to one node, after a confirmation that says what happens to whom.

import type { CommandId } from '../../../contract/commands.ts';
import { html } from '../html.ts';
import { icon } from '../parts/icon.ts';
import { confirmAction } from '../shell/dialog.ts';
import { toastDone } from '../shell/toasts.ts';
import { commandOf } from './commands.ts';
import { sendCommand } from './send.ts';

export function askCommand(id: CommandId, node: string): void {
  const { label, summary, destroys } = commandOf(id);
  confirmAction({
    title: `${label}: ${node}`,
    body: html`<p>${summary}.</p>
      ${destroys !== null && html`<p class="warning-text">${icon('warning')}This ${destroys} of ${node}.</p>`}`,
    action: `${label} ${node}`,
    danger: destroys !== null,
    ...(destroys !== null && { typed: node }),
    run: async (note) => {
      const answer = await sendCommand(id, node, note);
      toastDone(`${node} is ${answer.state}. ${answer.waits_for}`);
    },
  });
}
