// The fleet: which of the machines need somebody, and why.

import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import { html } from '../html.ts';
import { connection, fleet, revision } from '../live/live.ts';
import { TABS, type Tab } from '../live/row.ts';
import { icon } from '../parts/icon.ts';
import { Empty, Loading } from '../parts/notices.ts';
import { TabLinks } from '../parts/tabs.ts';
import { place, setQuery } from '../router.ts';
import { ActionBar } from './action-bar.ts';
import { FleetList } from './fleet-list.ts';
import { readSelection } from './selection.ts';
import { arrange, GROUPS, type View, viewOf } from './view.ts';

const TAB_WORDS: Readonly<Record<Tab, string>> = {
  all: 'All',
  attention: 'Need attention',
  progress: 'In progress',
  active: 'Active',
  ready: 'Ready',
  missing: 'Missing',
};

const GROUP_WORDS = { none: 'No groups', site: 'By site', rack: 'By rack', state: 'By state', profile: 'By profile' };

export function FleetPage(): VNode {
  useEffect(readSelection, []);
  useEffect(() => {
    document.title = 'Fleet · Coldiron';
  }, []);
  void revision.value;
  const view = viewOf(place.value.query);
  const sites = [...fleet.sites.keys()].toSorted();
  return html`<div class="fleet">
    <h1 class="for-reader">Fleet</h1>
    <div class="fleet-tools">
      <${TabLinks}
        name="tab"
        label="Which nodes"
        tabs=${TABS.map((id) => ({ id, label: TAB_WORDS[id], count: fleet.counts[id] }))}
      />
      <${Filters} view=${view} sites=${sites} />
    </div>
    <${Content} view=${view} />
    <${ActionBar} />
  </div>`;
}

function Filters({ view, sites }: { view: View; sites: readonly string[] }): VNode {
  const onChange = (name: string) => (event: Event) => setQuery({ [name]: (event.target as HTMLSelectElement).value });
  return html`<div class="filters">
    ${
      view.filter !== '' &&
      html`<button type="button" class="chip" onClick=${() => setQuery({ q: null })}>
      ${view.filter}${icon('cross')}<span class="for-reader">Remove the filter</span>
    </button>`
    }
    ${
      (sites.length > 1 || view.site !== null) &&
      html`<select aria-label="Site" value=${view.site ?? ''} onChange=${onChange('site')}>
      <option value="">All sites</option>
      ${sites.map((site) => html`<option value=${site} key=${site}>${site}</option>`)}
    </select>`
    }
    <select aria-label="Groups" value=${view.group} onChange=${(event: Event) => {
      const { value } = event.target as HTMLSelectElement;
      setQuery({ group: value === 'none' ? null : value });
    }}>
      ${GROUPS.map((group) => html`<option value=${group} key=${group}>${GROUP_WORDS[group]}</option>`)}
    </select>
  </div>`;
}

function Content({ view }: { view: View }): VNode {
  if (connection.value === 'connecting' && fleet.entries.size === 0) return html`<${Loading} what="the fleet" />`;
  if (fleet.entries.size === 0) {
    return html`<${Empty} title="No machines yet">
      <p>Power one on in a network that this appliance serves: it appears here when it asks for an address.</p>
      <p>Or declare machines: <code>coldiron apply inventory/*.yaml</code></p>
    <//>`;
  }
  // The list keeps its order while rows change, so an empty view is judged by the rows themselves.
  const isEmpty =
    fleet.counts[view.tab] === 0 || (view.filter !== '' && arrange(fleet.entries.values(), view).items.length === 0);
  if (isEmpty && view.filter === '' && view.site === null) return html`<${NothingHere} tab=${view.tab} />`;
  if (isEmpty) {
    return html`<${Empty} title="No node matches">
      <p>
        The filter looks in names, addresses, MACs, serials and labels. Fields narrow it: <code>state:failed rack:r12 -profile:debian</code>
      </p>
      <p><button type="button" onClick=${() => setQuery({ q: null, site: null })}>Remove the filter</button></p>
    <//>`;
  }
  return html`<${FleetList} view=${view} />`;
}

const NOTHING: Readonly<Record<Tab, readonly [string, string]>> = {
  all: ['No machines', 'Power one on, or declare machines in the inventory.'],
  attention: ['Nothing needs you', 'No machine has failed, waits to be accepted or is silent.'],
  progress: ['Nothing is in progress', 'No machine is being commissioned, deployed, enrolled, drained or released.'],
  active: ['No machine is active', 'Deploy one that is ready: it becomes active when it has enrolled.'],
  ready: ['No machine is ready', 'Commission one that is registered: it becomes ready when its tests have passed.'],
  missing: ['No machine is missing', 'Every machine in service has sent a heartbeat within the last 5 minutes.'],
};

function NothingHere({ tab }: { tab: Tab }): VNode {
  const [title, next] = NOTHING[tab];
  return html`<${Empty} title=${title}><p>${next}</p><//>`;
}
