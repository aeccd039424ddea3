// One row of the fleet. It is rendered again only when its node, its place or its selection changes.

import { Component, type VNode } from 'preact';
import { classes, html } from '../html.ts';
import type { Entry } from '../live/fleet-store.ts';
import type { Row } from '../live/row.ts';
import { icon } from '../parts/icon.ts';
import { HealthMark, StateMark } from '../parts/state-mark.ts';
import { Countdown, Since } from '../parts/time-text.ts';
import { pathTo } from '../router.ts';
import { toggle } from './selection.ts';
import { position, situation } from './situation.ts';

interface FleetRowProps {
  readonly entry: Entry;
  readonly index: number;
  readonly selected: boolean;
  readonly current: boolean;
}

export class FleetRow extends Component<FleetRowProps> {
  override shouldComponentUpdate(next: FleetRowProps): boolean {
    const { entry, index, selected, current } = this.props;
    return next.entry !== entry || next.index !== index || next.selected !== selected || next.current !== current;
  }

  override render({ entry: { row }, index, selected, current }: FleetRowProps): VNode {
    const text = situation(row);
    return html`<div
      class=${classes('fleet-row', `row-${row.state}`, selected && 'selected', current && 'current')}
      role="row"
      aria-rowindex=${index + 2}
      aria-selected=${selected ? 'true' : 'false'}
      data-node=${row.hostname}
    >
      <div role="gridcell" class="cell-check">
        <input
          type="checkbox"
          checked=${selected}
          aria-label=${`Select ${row.hostname}`}
          onClick=${() => toggle(row.hostname)}
        />
      </div>
      <div role="gridcell" class="cell-name">
        <a href=${pathTo('node', { node: row.hostname })}>${row.hostname}</a>
        ${row.armed && html`<span class="tone-attention" title="Armed">${icon('bolt', 'solid')}<span class="for-reader">armed</span></span>`}
      </div>
      <div role="gridcell" class="cell-state"><${StateMark} state=${row.state} step=${row.failed_step} /><${HealthMark} health=${row.health} /></div>
      <div role="gridcell" class="cell-what" title=${text}>
        <span class="what-text">${text}</span>
        ${row.deadline && html`<${Countdown} deadline=${row.deadline} />`}
        <${ProgressBar} row=${row} />
      </div>
      <div role="gridcell" class="cell-rack">${position(row)}</div>
      <div role="gridcell" class="cell-profile">${row.profile ?? '–'}</div>
      <div role="gridcell" class="cell-address">${row.address ?? row.mac ?? '–'}</div>
      <div role="gridcell" class="cell-since"><${Since} time=${row.state_since} /></div>
    </div>`;
  }
}

function ProgressBar({ row: { progress } }: { row: Row }): VNode | null {
  if (progress === null || progress.percent === null) return null;
  return html`<span class="progress-line" aria-hidden="true"><span style=${{ width: `${progress.percent}%` }}></span></span>`;
}
