// For the phone at the rack: one field that takes a serial number, MAC address, name or place, then one node with its steps.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { classes, html } from '../html.ts';
import { connection, fleet, onEvent, revision } from '../live/live.ts';
import { attentionReason, type Row } from '../live/row.ts';
import { icon } from '../parts/icon.ts';
import { Empty, Loading } from '../parts/notices.ts';
import { HealthMark, StateMark } from '../parts/state-mark.ts';
import { navigate, pathTo, place, setQuery } from '../router.ts';
import { mayDo } from '../session.ts';
import { useRead } from '../use-read.ts';
import { findNodes } from './find-node.ts';
import { BarcodeButton } from './scan.ts';
import { placeText, type Step, stepsOf } from './steps.ts';
import { act, sendWhenOnline, waiting } from './waiting-actions.ts';

const rowsNow = (): Row[] => {
  revision.value;
  return [...fleet.entries.values()].map(({ row }) => row);
};

export function TechnicianPage(): VNode {
  useEffect(sendWhenOnline, []);
  const text = place.value.query.get('q') ?? '';
  const found = findNodes(rowsNow(), text);
  const [only] = found;
  const open = (event: Event): void => {
    event.preventDefault();
    if (only && found.length === 1) navigate(pathTo('technicianNode', { node: only.hostname }));
  };
  return html`<div class="technician">
    <h1>Which machine?</h1>
    <form class="find" aria-label="Find a machine" onSubmit=${open}>
      <label class="field">
        <span>Serial number, MAC address, name, or rack and unit (r12 7)</span>
        <input
          type="search"
          class="large-input"
          autofocus
          autocomplete="off"
          autocapitalize="off"
          spellcheck=${false}
          enterkeyhint="search"
          value=${text}
          onInput=${(event: InputEvent) => setQuery({ q: (event.target as HTMLInputElement).value })}
        />
      </label>
      <${BarcodeButton} found=${(code: string) => setQuery({ q: code })} />
    </form>
    <p class="muted small-text">A QR label of a rack opens its machine with the camera of the phone.</p>
    <${Waiting} />
    ${text.trim() === '' ? html`<${Attention} />` : html`<${Found} rows=${found} text=${text} />`}
  </div>`;
}

function Found({ rows, text }: { rows: readonly Row[]; text: string }): VNode {
  if (rows.length === 0) {
    if (connection.value === 'connecting') return html`<${Loading} what="machines" />`;
    return html`<${Empty} title=${`No machine matches “${text.trim()}”`}>
      <p>Check the label. A machine that is not declared appears after its first network boot; look for its MAC address then.</p>
    <//>`;
  }
  return html`<ul class="machine-cards">${rows.map((row) => machine(row))}</ul>`;
}

const machine = (row: Row): VNode =>
  html`<li key=${row.id}>
    <a class="machine-card" href=${pathTo('technicianNode', { node: row.hostname })}>
      <strong>${row.hostname}</strong>
      <span class="muted">${placeText(row)}</span>
      <span class="line"><${StateMark} state=${row.state} step=${row.failed_step} /><${HealthMark} health=${row.health} /></span>
      ${attentionReason(row) !== null && html`<span>${attentionReason(row)}</span>`}
    </a>
  </li>`;

const MOST_ATTENTION = 10;

function Attention(): VNode | null {
  const rows = rowsNow().filter((row) => attentionReason(row) !== null);
  if (rows.length === 0) return null;
  return html`<section>
    <h2>Machines that need somebody</h2>
    <ul class="machine-cards">${rows.slice(0, MOST_ATTENTION).map(machine)}</ul>
    ${rows.length > MOST_ATTENTION && html`<p><a href=${pathTo('fleet', {}, { tab: 'attention' })}>All ${rows.length}</a></p>`}
  </section>`;
}

function Waiting(): VNode | null {
  const count = waiting.value.length;
  if (count === 0) return null;
  return html`<p class="line tone-attention" role="status">
    ${icon('clock')}<span>${count === 1 ? '1 action waits' : `${count} actions wait`} for the connection and will be sent.</span>
  </p>`;
}

export function TechnicianNodePage({ params }: { params: Readonly<Record<string, string>> }): VNode {
  useEffect(sendWhenOnline, []);
  const name = params.node ?? '';
  const row = rowsNow().find(({ hostname }) => hostname === name);
  if (row === undefined) {
    return html`<div class="technician">
      <${Back} />
      ${
        connection.value === 'connecting'
          ? html`<${Loading} what=${name} />`
          : html`<${Empty} title=${`There is no machine ${name}`}><p>Look for it by its serial number or MAC address.</p><//>`
      }
    </div>`;
  }
  return html`<${NodeSteps} row=${row} key=${row.id} />`;
}

const Back = (): VNode =>
  html`<p><a class="line" href=${pathTo('technician')}>${icon('left')}<span>Another machine</span></a></p>`;

function NodeSteps({ row }: { row: Row }): VNode {
  const node = row.hostname;
  const events = useRead('listEvents', { query: { node, newest: true, limit: 500 } });
  const cabling = useRead('getNodeCabling', { params: { node } });
  const power = useRead('getNodePower', row.bmc_address === null ? null : { params: { node } });
  const kinds = useKinds(row.id, events.data?.events.map(({ kind }) => kind) ?? []);
  // What the cables say changes with the reports of a session, which change the row.
  useEffect(cabling.reload, [row.version, row.cabling?.verdict]);
  const state = power.data?.power;
  const steps = stepsOf({
    row,
    power: state === 'on' || state === 'off' ? state : null,
    cables: cabling.data?.cables ?? [],
    kinds,
  });
  return html`<div class="technician">
    <${Back} />
    <h1>${node}</h1>
    <p class="machine-place">${placeText(row)}</p>
    <p class="line"><${StateMark} state=${row.state} step=${row.failed_step} /><${HealthMark} health=${row.health} /></p>
    <${WrongPlace} row=${row} />
    <ol class="todo" aria-label="Steps">${steps.map(step)}</ol>
    <div class="technician-actions">
      <button type="button" disabled=${!mayDo('tech') || row.bmc_address === null} onClick=${() => void act('identifyNode', node)}>
        ${icon('bolt')}Identify light
      </button>
      ${
        row.state === 'discovered' &&
        html`<button type="button" class="primary" disabled=${!mayDo('operator')} onClick=${() => void act('acceptNode', node)}>
          ${icon('check')}Accept it
        </button>`
      }
      <a class="button" href=${pathTo('node', { node })}>Everything about it</a>
    </div>
    <${Waiting} />
    <dl class="facts">
      <dt>Serial number</dt>
      <dd>${row.serial ?? 'not known yet'}</dd>
      <dt>MAC address</dt>
      <dd>${row.mac ?? 'not known yet'}</dd>
      <dt>BMC</dt>
      <dd>${row.bmc_address ?? 'none declared'}</dd>
    </dl>
  </div>`;
}

function useKinds(id: string, read: readonly string[]): ReadonlySet<string> {
  const [arrived, setArrived] = useState<ReadonlySet<string>>(new Set());
  useEffect(
    () =>
      onEvent(({ node, kind }) => {
        if (node === id) setArrived((before) => (before.has(kind) ? before : new Set([...before, kind])));
      }),
    [id],
  );
  return new Set([...read, ...arrived]);
}

function WrongPlace({ row }: { row: Row }): VNode | null {
  if (row.cabling?.verdict !== 'another-port') return null;
  return html`<p class="alert tone-bad" role="alert">${icon('warning')}<span>${row.cabling.summary}</span></p>`;
}

const MARKS = { done: 'check', now: 'half', later: 'circle', wrong: 'cross' } as const;
const SPOKEN = { done: 'done', now: 'next', later: 'later', wrong: 'wrong' } as const;

const step = ({ id, title, state, words }: Step): VNode =>
  html`<li class=${classes('step', `step-${state}`)} key=${id} data-step=${id} data-state=${state}>
    ${icon(MARKS[state])}
    <div>
      <strong>${title}<span class="for-reader">: ${SPOKEN[state]}</span></strong>
      <p>${words}</p>
    </div>
  </li>`;
