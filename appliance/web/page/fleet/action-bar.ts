// What can be done with the selected nodes. Each action shows first whom it affects and who is refused.

import type { VNode } from 'preact';
import type { CommandId } from '../../../contract/commands.ts';
import { POWER_ACTIONS, type PowerAction } from '../../../contract/power-actions.ts';
import { type BulkAction, openBulkDialog } from '../actions/bulk-dialog.ts';
import { COMMANDS, commandOf, refusalOf } from '../actions/commands.ts';
import { sendCommand } from '../actions/send.ts';
import { call } from '../api.ts';
import { html } from '../html.ts';
import type { Row } from '../live/row.ts';
import { Menu, type MenuItem } from '../parts/menu.ts';
import { mayDo, session } from '../session.ts';
import { selectedRows, selection, setSelection } from './selection.ts';

const FIRST: readonly CommandId[] = ['acceptNode', 'commissionNode', 'deployNode'];

const POWER_WORDS: Readonly<Record<PowerAction, string>> = {
  on: 'Switch on',
  off: 'Switch off',
  cycle: 'Switch off and on',
  reset: 'Reset',
  soft: 'Shut down',
};

function commandAction(id: CommandId): BulkAction {
  const { label, summary, destroys } = commandOf(id);
  const who = session.peek();
  const role = who.state === 'in' ? who.who.role : 'viewer';
  return {
    ...{ label, explains: `${summary}.`, destroys },
    refusal: (row) => refusalOf(id, row, role),
    run: (node, note, key) => sendCommand(id, node, note, key),
  };
}

const bmcRefusal = (row: Row): string | null => (row.bmc_address === null ? 'it has no BMC in the inventory' : null);

const powerAction = (action: PowerAction): BulkAction => ({
  label: POWER_WORDS[action],
  explains: `${POWER_WORDS[action]} through the BMC of each machine.`,
  destroys: null,
  refusal: bmcRefusal,
  run: (node, _note, key) => call('setNodePower', { params: { node }, body: { action } }, { key }),
});

const identifyAction = (): BulkAction => ({
  label: 'Identify',
  explains: 'The identify light of each machine is on for two minutes.',
  destroys: null,
  refusal: bmcRefusal,
  run: (node, _note, key) => call('identifyNode', { params: { node }, body: { light: 120 } }, { key }),
});

export function ActionBar(): VNode | null {
  const count = selection.value.size;
  if (count === 0) return null;
  const open = (action: BulkAction): void => openBulkDialog(action, selectedRows());
  const others = COMMANDS.filter(({ id }) => !FIRST.includes(id));
  const commandItem = ({ id, label, summary, destroys, role }: (typeof COMMANDS)[number]): MenuItem => ({
    label: destroys === null ? label : `${label}…`,
    note: summary,
    danger: destroys !== null,
    disabled: mayDo(role) ? null : `Needs the role ${role}`,
    run: () => open(commandAction(id)),
  });
  return html`<section class="action-bar" aria-label="Selected nodes">
    <strong>${count.toLocaleString('en')} selected</strong>
    ${FIRST.map((id) => {
      const { label, destroys, role } = commandOf(id);
      return html`<button
        type="button"
        key=${id}
        disabled=${!mayDo(role)}
        title=${mayDo(role) ? commandOf(id).summary : `Needs the role ${role}`}
        onClick=${() => open(commandAction(id))}
      >
        ${label}${destroys && '…'}
      </button>`;
    })}
    <${Menu}
      label="Power"
      name="Power of the selected nodes"
      kind=""
      align="left"
      items=${[
        ...POWER_ACTIONS.map(
          (action): MenuItem => ({
            label: POWER_WORDS[action],
            disabled: mayDo('tech') ? null : 'Needs the role tech',
            run: () => open(powerAction(action)),
          }),
        ),
        null,
        {
          label: 'Identify',
          note: 'Light on for two minutes',
          disabled: mayDo('tech') ? null : 'Needs the role tech',
          run: () => open(identifyAction()),
        },
      ]}
    />
    <${Menu} label="More" name="More commands for the selected nodes" kind="" align="left" items=${others.map(commandItem)} />
    <button type="button" class="quiet" onClick=${() => setSelection(new Set())}>Clear</button>
  </section>`;
}
