// All racks side by side, and one rack with its lists and labels. A unit shows name, state, health and what is wrong with its place.

import type { VNode } from 'preact';
import { type Child, classes, html } from '../html.ts';
import { connection, fleet, revision } from '../live/live.ts';
import { attentionReason, type Row, STATE_TONES } from '../live/row.ts';
import { icon } from '../parts/icon.ts';
import { Empty, Loading } from '../parts/notices.ts';
import { Card, PageFrame } from '../parts/page-frame.ts';
import { HealthMark, StateMark } from '../parts/state-mark.ts';
import { pathTo, place, setQuery } from '../router.ts';
import { RackLabels } from './rack-labels.ts';
import { isMissing, misplaced, type Rack, racksOf, type Slot, slotsOf } from './rack-layout.ts';

function useRacks(): Rack[] {
  // Read, so that the page is rendered again when rows change.
  revision.value;
  return racksOf([...fleet.entries.values()].map(({ row }) => row));
}

const NO_RACKS = html`<${Empty} title="No node names a rack">
  <p>Give nodes the labels <code>rack</code> and <code>unit</code> in the inventory: <code>labels: { rack: r12, unit: "7" }</code></p>
<//>`;

export function RacksPage(): VNode {
  const racks = useRacks();
  const about = 'Each unit with its state. Units are counted from the bottom.';
  if (racks.length === 0) {
    return html`<${PageFrame} title="Racks" about=${about}>
      ${connection.value === 'connecting' ? html`<${Loading} what="racks" />` : NO_RACKS}
    <//>`;
  }
  return html`<${PageFrame} title="Racks" about=${about}>
    <div class="racks">${racks.map((rack) => html`<${RackDrawing} key=${`${rack.site} ${rack.name}`} rack=${rack} linked />`)}</div>
  <//>`;
}

export function RackPage({ params }: { params: Readonly<Record<string, string>> }): VNode {
  const { query } = place.value;
  const site = query.get('site');
  const rack = useRacks().find(({ name, site: of }) => name === params.rack && (site === null || of === site));
  if (rack === undefined) {
    return html`<${PageFrame} title=${`Rack ${params.rack ?? ''}`}>
      ${
        connection.value === 'connecting'
          ? html`<${Loading} what="the rack" />`
          : html`<${Empty} title=${`No node is in the rack ${params.rack ?? ''}`}><p><a href=${pathTo('racks')}>All racks</a></p><//>`
      }
    <//>`;
  }
  const labels = query.get('labels') === 'yes';
  const count = rack.rows.length === 1 ? '1 node' : `${rack.rows.length} nodes`;
  return html`<${PageFrame}
    title=${`Rack ${rack.name}`}
    about=${`${rack.site === null ? '' : `Site ${rack.site}, `}${count}`}
    actions=${html`<button type="button" aria-pressed=${labels ? 'true' : 'false'} onClick=${() => setQuery({ labels: labels ? null : 'yes' }, 'push')}>
        ${icon('scan')}${labels ? 'Back to the rack' : 'QR labels'}
      </button>
      ${labels && html`<button type="button" class="primary" onClick=${() => print()}>Print</button>`}`}
  >
    ${labels ? html`<${RackLabels} rows=${rack.rows} />` : html`<${OneRack} rack=${rack} />`}
  <//>`;
}

function OneRack({ rack }: { rack: Rack }): VNode {
  const missing = rack.rows.filter(isMissing);
  const wrong = rack.rows.filter((row) => misplaced(row) !== null);
  const attention = rack.rows.filter(
    (row) => attentionReason(row) !== null && misplaced(row) === null && !isMissing(row),
  );
  return html`<div class="one-rack">
    <${RackDrawing} rack=${rack} />
    <div class="rack-lists">
      ${list('Needs attention', attention, (row) => attentionReason(row), 'No node of this rack needs anybody.')}
      ${list('In the wrong place', wrong, misplaced, 'No cable is in a port that is declared for another one.')}
      ${list('Expected, not seen', missing, (row) => (row.health === 'silent' ? 'no heartbeat for 5 minutes' : 'declared, and never heard from'), 'Every declared node was seen.')}
    </div>
  </div>`;
}

const list = (title: string, rows: readonly Row[], why: (row: Row) => string | null, none: string): Child =>
  html`<${Card} title=${title} note=${rows.length === 0 ? '' : String(rows.length)}>
    ${
      rows.length === 0
        ? html`<p class="line tone-good">${icon('check')}<span>${none}</span></p>`
        : html`<ul class="reasons">
            ${rows.map(
              (row) =>
                html`<li key=${row.id}>
                  <a href=${pathTo('node', { node: row.hostname })}>${row.hostname}</a>
                  <span class="muted">${row.unit === null ? '' : `unit ${row.unit}`}</span>
                  <span>${why(row)}</span>
                </li>`,
            )}
          </ul>`
    }
  <//>`;

function RackDrawing({ rack, linked = false }: { rack: Rack; linked?: boolean }): VNode {
  const { name, site, units, elsewhere } = rack;
  const path = pathTo('rack', { rack: name }, { site });
  return html`<section class="card rack" aria-label=${`Rack ${name}`}>
    <header>
      <h2>${linked ? html`<a href=${path}>${name}</a>` : name}</h2>
      <span class="muted small-text">${site ?? ''}</span>
    </header>
    <ol class="units">${slotsOf(units).map(slot)}</ol>
    ${
      elsewhere.length > 0 &&
      html`<h3 class="rack-part">Without a unit</h3>
      <ol class="units">${elsewhere.map((row) => html`<li class="slot" key=${row.id}><span class="unit-number">–</span>${node(row)}</li>`)}</ol>`
    }
  </section>`;
}

const slot = (each: Slot): Child =>
  each.kind === 'gap'
    ? html`<li class="slot gap" key=${`gap ${each.from}`}>
        <span class="unit-number">${each.from === each.to ? each.from : `${each.from}–${each.to}`}</span>
        <span class="muted">free</span>
      </li>`
    : html`<li class="slot" key=${each.unit.unit}>
        <span class="unit-number">${each.unit.unit}</span>
        <span class="unit-nodes">
          ${each.unit.rows.map(node)}
          ${each.unit.rows.length > 1 && html`<span class="tone-bad line">${icon('warning')}<span>they claim the same unit</span></span>`}
        </span>
      </li>`;

function node(row: Row): Child {
  const wrong = misplaced(row);
  const words = wrong ?? attentionReason(row) ?? row.waiting_for;
  return html`<a
    class=${classes('unit-node', `edge-${STATE_TONES[row.state]}`)}
    href=${pathTo('node', { node: row.hostname })}
    key=${row.id}
    title=${words}
  >
    <span class="unit-name">${row.hostname}</span>
    <${StateMark} state=${row.state} step=${row.failed_step} />
    <${HealthMark} health=${row.health} />
    ${wrong !== null && html`<span class="tone-bad line">${icon('warning')}<span>wrong place</span></span>`}
  </a>`;
}
