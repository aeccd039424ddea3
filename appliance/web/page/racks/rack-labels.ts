// Labels for a rack, to print: each has a QR code with the link of the node's technician page, so that the camera of any phone opens it.

import type { VNode } from 'preact';
import { html } from '../html.ts';
import { naturalKey, type Row } from '../live/row.ts';
import { pathTo } from '../router.ts';
import { qrPicture } from './qr-path.ts';
import { unitNumber } from './rack-layout.ts';

export function RackLabels({ rows }: { rows: readonly Row[] }): VNode {
  const order = (row: Row): string =>
    `${String(99 - (unitNumber(row.unit) ?? 0)).padStart(2, '0')} ${naturalKey(row.hostname)}`;
  const sorted = rows.toSorted((one, other) => (order(one) < order(other) ? -1 : 1));
  return html`<ul class="labels" aria-label="Labels">
    ${sorted.map((row) => html`<${Label} row=${row} key=${row.id} />`)}
  </ul>`;
}

function Label({ row }: { row: Row }): VNode {
  const link = new URL(pathTo('technicianNode', { node: row.hostname }), location.origin).href;
  const { size, path } = qrPicture(link);
  return html`<li class="label">
    <svg viewBox=${`0 0 ${size} ${size}`} role="img" aria-label=${`QR code of ${row.hostname}`}>
      <path d=${path} />
    </svg>
    <div>
      <strong>${row.hostname}</strong>
      <span>${row.rack === null ? '' : `Rack ${row.rack}`}${row.unit === null ? '' : `, unit ${row.unit}`}</span>
      ${row.serial !== null && html`<span>Serial ${row.serial}</span>`}
      ${row.mac !== null && html`<span>${row.mac}</span>`}
    </div>
  </li>`;
}
