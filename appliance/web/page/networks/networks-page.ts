// Networks: who answers DHCP on each, how full its pool is, where the appliance listens and why it does not, and the leases.

import type { VNode } from 'preact';
import type { Answer } from '../../../contract/wire.ts';
import { type Child, classes, html } from '../html.ts';
import { icon } from '../parts/icon.ts';
import { Empty } from '../parts/notices.ts';
import { Card, PageFrame, Shown, Table } from '../parts/page-frame.ts';
import { Ago } from '../parts/time-text.ts';
import { pathTo, place, setQuery } from '../router.ts';
import { useRead } from '../use-read.ts';
import { poolUse } from './pool-use.ts';

type Network = Answer<'listNetworks'>['networks'][number];
type Lease = Answer<'listLeases'>['leases'][number];
type Listener = Answer<'listListeners'>['listeners'][number];
type Problem = Answer<'listApplianceProblems'>['problems'][number];

const DHCP_WORDS: Readonly<Record<Network['dhcp'], string>> = {
  authoritative: 'This appliance assigns addresses',
  proxy: 'Another server assigns addresses; this appliance adds boot files',
  off: 'This appliance does not answer DHCP here',
};

export function NetworksPage(): VNode {
  const networks = useRead('listNetworks', {});
  const leases = useRead('listLeases', {});
  const listeners = useRead('listListeners', {});
  const problems = useRead('listApplianceProblems', {});
  const reload = (): void => {
    for (const read of [networks, leases, listeners, problems]) read.reload();
  };
  return html`<${PageFrame}
    title="Networks"
    about="Who answers DHCP on each network, what is leased, and where the appliance listens."
    actions=${html`<button type="button" onClick=${reload}>${icon('refresh')}Read again</button>`}
  >
    <${Shown}
      read=${networks}
      what="networks"
      show=${(data: Answer<'listNetworks'>) =>
        data.networks.length === 0
          ? html`<${Empty} title="No network is declared">
              <p>Declare networks in the inventory. Nothing is sent to a network until it names an interface.</p>
            <//>`
          : html`<div class="network-cards">
              ${data.networks.map(
                (network) =>
                  html`<${NetworkCard}
                    key=${network.name}
                    network=${network}
                    leases=${leases.data?.leases ?? []}
                    listeners=${listeners.data?.listeners ?? []}
                    problems=${problems.data?.problems ?? []}
                  />`,
              )}
            </div>`}
    />
    <${Shown}
      read=${leases}
      what="leases"
      show=${(data: Answer<'listLeases'>) => html`<${Leases} leases=${data.leases} />`}
    />
  <//>`;
}

interface CardProps {
  readonly network: Network;
  readonly leases: readonly Lease[];
  readonly listeners: readonly Listener[];
  readonly problems: readonly Problem[];
}

function NetworkCard({ network, leases, listeners, problems }: CardProps): VNode {
  const use = poolUse(network, leases);
  const here = listeners.filter(({ networks }) => networks.includes(network.name));
  const strangers = problems.filter(
    ({ id, subject }) => id === 'other-dhcp-server' && subject.split(/[\s,]/).includes(network.name),
  );
  const vlan = network.vlan === null ? '' : `VLAN ${network.vlan} · `;
  return html`<${Card} title=${network.name} note=${`${vlan}${network.prefix} · site ${network.site}`}>
    <dl class="facts">
      <dt>DHCP</dt>
      <dd>${DHCP_WORDS[network.dhcp]}</dd>
      <dt>Interface</dt>
      <dd>${network.interface ?? html`<span class="muted">none named: nothing is sent there</span>`}</dd>
      <dt>Gateway</dt>
      <dd>${network.gateway ?? html`<span class="muted">none</span>`}</dd>
      <dt>Unknown machines</dt>
      <dd>${network.unknown}</dd>
      <dt>Pool</dt>
      <dd>${use === null ? html`<span class="muted">none: reserved addresses only</span>` : html`<${Gauge} name=${network.name} ...${use} />`}</dd>
      ${here.map((listener) => listenerRow(listener))}
    </dl>
    ${strangers.map(
      ({ words, next_step }) =>
        html`<p class="alert tone-bad">${icon('warning')}<span>${words} <code>${next_step}</code></span></p>`,
    )}
  <//>`;
}

const listenerRow = ({ service, where, problem }: Listener): Child =>
  html`<dt>${service.toUpperCase()} at ${where}</dt>
    <dd class=${problem === null ? 'tone-good' : 'tone-bad'}>
      ${icon(problem === null ? 'check' : 'cross')} ${problem === null ? 'answers' : problem}
    </dd>`;

function Gauge(use: { name: string; size: number; held: number; percent: number; tone: string }): VNode {
  const label = `${use.held.toLocaleString('en')} of ${use.size.toLocaleString('en')} addresses leased`;
  return html`<span class="gauge">
    <meter min="0" max=${use.size} value=${use.held} aria-label=${`Pool of ${use.name}`}>${use.percent} %</meter>
    <span class=${classes(use.tone !== 'good' && use.tone !== 'neutral' && `tone-${use.tone}`)}
      >${label}${use.tone === 'bad' ? ': the pool is empty' : ''}</span
    >
  </span>`;
}

const MOST_LEASES = 500;

function Leases({ leases }: { leases: readonly Lease[] }): VNode {
  const text = place.value.query.get('q') ?? '';
  const wanted = text.trim().toLowerCase();
  const found = leases.filter(({ address, mac, network, hostname }) =>
    [address, mac, network, hostname ?? ''].some((part) => part.toLowerCase().includes(wanted)),
  );
  return html`<${Card} title="Leases" note=${`${found.length.toLocaleString('en')} of ${leases.length.toLocaleString('en')}`} plain>
    <div class="card-body">
      <label class="field inline">
        <span>Address, MAC, network or node</span>
        <input
          type="search"
          value=${text}
          onInput=${(event: InputEvent) => setQuery({ q: (event.target as HTMLInputElement).value })}
        />
      </label>
    </div>
    ${
      found.length === 0
        ? html`<${Empty} title=${leases.length === 0 ? 'No address is leased' : 'No lease matches'}>
            <p>${leases.length === 0 ? 'A lease appears here as soon as a machine asks for an address.' : 'Change the words above.'}</p>
          <//>`
        : html`<${Table} label="Leases" head=${['Address', 'MAC', 'Node', 'Network', 'State', 'Until']}>
            ${found.slice(0, MOST_LEASES).map(leaseRow)}
          <//>`
    }
    ${
      found.length > MOST_LEASES &&
      html`<p class="card-body muted">The first ${MOST_LEASES} are shown. Narrow the list with the words above.</p>`
    }
  <//>`;
}

const leaseRow = ({ address, mac, network, hostname, state, held, expires_at }: Lease): Child =>
  html`<tr key=${address}>
    <td>${address}</td>
    <td>${mac}</td>
    <td>${hostname === null ? html`<span class="muted">not declared</span>` : html`<a href=${pathTo('node', { node: hostname })}>${hostname}</a>`}</td>
    <td>${network}</td>
    <td>${held ? 'in use' : state === 'bound' ? 'expired' : state}</td>
    <td><${Ago} time=${expires_at} /></td>
  </tr>`;
