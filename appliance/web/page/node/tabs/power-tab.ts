// The machine through its BMC: power, boot device, identify light, sensors and event log.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { OperationId } from '../../../../contract/operations.ts';
import { POWER_ACTIONS, type PowerAction } from '../../../../contract/power-actions.ts';
import { asFailure, call, type Input } from '../../api.ts';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { mayDo } from '../../session.ts';
import { confirmAction } from '../../shell/dialog.ts';
import { toastDone, toastFailure } from '../../shell/toasts.ts';
import { capital } from '../../text.ts';
import { absolute } from '../../time.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { shown } from './shown.ts';

const WORDS: Readonly<Record<PowerAction, string>> = {
  on: 'Switch on',
  off: 'Switch off',
  cycle: 'Off and on',
  reset: 'Reset',
  soft: 'Shut down',
};
const INTERRUPTS: ReadonlySet<PowerAction> = new Set(['off', 'cycle', 'reset']);
const DEVICES = ['network', 'http', 'disk', 'cdrom', 'setup', 'none'] as const;
const TONES: Readonly<Record<string, string>> = { ok: 'tone-good', warning: 'tone-attention', critical: 'tone-bad' };

export function PowerTab({ node }: { node: Node }): VNode {
  if (node.bmc === null) {
    return html`<${Empty} title="It has no BMC in the inventory"><p>Declare one (<code>bmc:</code>) to switch it, to boot it from the network and to read its sensors here.</p><//>`;
  }
  return html`<div class="columns">
    <${Power} node=${node} />
    <section><h3>BMC</h3><dl class="facts"><dt>Address</dt><dd>${node.bmc.address}</dd><dt>Driver</dt><dd>${node.bmc.driver}</dd><dt>User</dt><dd>${node.bmc.username ?? '–'}</dd></dl></section>
    <${Sensors} node=${node} /><${EventLog} node=${node} />
  </div>`;
}

async function send<Id extends OperationId>(id: Id, input: Input<Id>, what: string, after: () => void): Promise<void> {
  try {
    await call(id, input);
    toastDone(what);
    after();
  } catch (error) {
    toastFailure(`${what}: refused`, asFailure(error));
  }
}

function Power({ node }: { node: Node }): VNode {
  const params = { node: node.id };
  const power = useRead('getNodePower', { params });
  const [device, setDevice] = useState<(typeof DEVICES)[number]>('network');
  const act = (action: PowerAction): void => {
    const run = () =>
      send(
        'setNodePower',
        { params, body: { action } },
        `${node.hostname}: ${WORDS[action].toLowerCase()}`,
        power.reload,
      );
    if (!INTERRUPTS.has(action) || node.state !== 'active') return void run();
    confirmAction({
      title: `${WORDS[action]}: ${node.hostname}`,
      body: html`<p>It is in service: its work is interrupted. Drain it first if you can.</p>`,
      action: WORDS[action],
      danger: true,
      typed: node.hostname,
      run,
    });
  };
  return html`<section><h3>Power</h3>
    ${shown(power, 'the power state', (data) => html`<p>It is <strong>${data.power}</strong>${data.mode === 'recorder' ? ' (the BMCs of this site are only recorded, not used)' : ''}</p>`)}
    <p class="buttons">${POWER_ACTIONS.map((action) => html`<button type="button" key=${action} disabled=${!mayDo('tech')} onClick=${() => act(action)}>${WORDS[action]}</button>`)}</p>
    <p class="buttons">
      <button type="button" disabled=${!mayDo('tech')} onClick=${() => void send('identifyNode', { params, body: { light: 120 } }, `${node.hostname}: identify light on for two minutes`, () => {})}>Identify for 2 min</button>
      <button type="button" disabled=${!mayDo('tech')} onClick=${() => void send('identifyNode', { params, body: { light: 'off' } }, `${node.hostname}: identify light off`, () => {})}>Light off</button>
    </p>
    <p class="buttons"><label>Next boot from <select value=${device} onChange=${(event: Event) => setDevice((event.target as HTMLSelectElement).value as typeof device)}>
      ${DEVICES.map((each) => html`<option value=${each} key=${each}>${each === 'none' ? 'the order of the firmware' : each}</option>`)}</select></label>
      <button type="button" disabled=${!mayDo('operator')} onClick=${() => void send('setNodeBootDevice', { params, body: { device } }, `${node.hostname}: boots next from ${device}`, () => {})}>Set</button></p>
    ${!mayDo('tech') && html`<p class="muted">Switching needs the role tech.</p>`}
  </section>`;
}

function Sensors({ node }: { node: Node }): VNode {
  const read = useRead('getNodeSensors', { params: { node: node.id } });
  return html`<section class="wide"><h3>Sensors</h3>
    ${shown(read, 'the sensors', ({ sensors }) =>
      sensors.length === 0
        ? html`<p class="muted">The BMC reports no sensors.</p>`
        : html`<div class="scroll-x" tabindex="0" role="region" aria-label="Sensors"><table><thead><tr><th scope="col">Sensor</th><th scope="col">Value</th><th scope="col">Health</th><th scope="col">States</th></tr></thead>
        <tbody>${sensors.map((each) => html`<tr key=${each.name}><td>${each.name}</td><td>${each.value === null ? '–' : `${each.value} ${each.unit}`}</td><td class=${TONES[each.health] ?? ''}>${each.health}</td><td>${each.states.join(', ')}</td></tr>`)}</tbody></table></div>`,
    )}
  </section>`;
}

function EventLog({ node }: { node: Node }): VNode {
  const read = useRead('getNodeEventLog', { params: { node: node.id } });
  const clear = (): void =>
    confirmAction({
      title: `Clear the event log: ${node.hostname}`,
      body: html`<p>The entries are deleted in the BMC.</p>`,
      action: 'Clear the log',
      danger: true,
      run: async () => {
        await call('clearNodeEventLog', { params: { node: node.id } });
        read.reload();
      },
    });
  return html`<section class="wide"><h3>Event log of the BMC</h3>
    ${shown(read, 'the event log', ({ entries }) =>
      entries.length === 0
        ? html`<p class="muted">The log is empty.</p>`
        : html`<ol class="trail">${entries.toReversed().map((each) => html`<li key=${each.id}><time>${each.at === null ? '–' : absolute(each.at)}</time><span class=${TONES[each.severity] ?? ''}>${each.message}</span><span class="kind muted">${capital(each.severity)}</span></li>`)}</ol>
        ${mayDo('operator') && html`<button type="button" onClick=${clear}>Clear the log…</button>`}`,
    )}
  </section>`;
}
