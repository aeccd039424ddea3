// Everything that is armed, on every page, until it is used or cancelled: whom, what, by whom, until when.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { asFailure, call } from '../api.ts';
import { html } from '../html.ts';
import { fleet, revision } from '../live/live.ts';
import type { Row } from '../live/row.ts';
import { icon } from '../parts/icon.ts';
import { Countdown } from '../parts/time-text.ts';
import { pathTo } from '../router.ts';
import { mayDo } from '../session.ts';
import { plural } from '../text.ts';
import { toastDone, toastFailure } from './toasts.ts';

const SHOWN = 20;

const what = ({ armed }: Row): string =>
  armed?.what === 'erase' ? 'erase all disks' : `install ${armed?.profile ?? 'its profile'}`;

export function ArmedBar(): VNode | null {
  const [open, setOpen] = useState(false);
  if (revision.value < 0 || fleet.armed.size === 0) return null;
  const rows = [...fleet.armed]
    .flatMap((name) => fleet.entries.get(name)?.row ?? [])
    .sort((a, b) => (a.armed?.until ?? '').localeCompare(b.armed?.until ?? ''));
  const [first] = rows;
  if (!first?.armed) return null;
  return html`<section class="armed" aria-label="Armed">
    <button type="button" class="armed-head" aria-expanded=${open ? 'true' : 'false'} onClick=${() => setOpen(!open)}>
      ${icon('bolt', 'solid')}<strong>${rows.length} armed</strong>
      <span class="armed-first"
        >${first.hostname}: ${what(first)}, <${Countdown} deadline=${first.armed.until} />${
          rows.length > 1 && ` and ${plural(rows.length - 1, 'other')}`
        }</span
      >
      ${icon('chevron')}
    </button>
    ${
      open &&
      html`<ul>
      ${rows.slice(0, SHOWN).map((row) => html`<${ArmedRow} row=${row} key=${row.hostname} />`)}
      ${rows.length > SHOWN && html`<li>and ${rows.length - SHOWN} more</li>`}
    </ul>`
    }
  </section>`;
}

function ArmedRow({ row }: { row: Row }): VNode | null {
  const [busy, setBusy] = useState(false);
  const { armed, hostname } = row;
  if (armed === null) return null;
  const cancel = async (): Promise<void> => {
    setBusy(true);
    try {
      await call('cancelNodeWork', { params: { node: hostname }, body: {} });
      toastDone(`${hostname}: cancelled, nothing is armed any more`);
    } catch (error) {
      toastFailure(`${hostname} was not cancelled`, asFailure(error));
    }
    setBusy(false);
  };
  return html`<li>
    <a href=${pathTo('node', { node: hostname })}>${hostname}</a>
    <span>${what(row)}</span>
    <span class="muted">armed by ${armed.by}</span>
    <${Countdown} deadline=${armed.until} />
    ${
      mayDo('operator') &&
      html`<button type="button" class="small" disabled=${busy} onClick=${cancel}>Cancel<span class="for-reader"> ${hostname}</span></button>`
    }
  </li>`;
}
