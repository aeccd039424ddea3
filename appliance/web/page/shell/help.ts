// The list of keys.

import type { VNode } from 'preact';
import { html } from '../html.ts';
import { allKeys } from '../keys.ts';
import { openDialog } from './dialog.ts';

export const openHelp = (): void => openDialog('Keys', () => html`<${KeyList} />`);

const KeyList = (): VNode =>
  html`<dl class="keys">
    ${allKeys().map(
      ({ keys, does }) =>
        html`<div>
          <dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd>`)}</dt>
          <dd>${does}</dd>
        </div>`,
    )}
  </dl>`;
