// What the node would get at each boot stage, and why; also as if it were in another state.

import type { VNode } from 'preact';
import { LIFECYCLE_STATES, type LifecycleState } from '../../../../domain/lifecycle.ts';
import { classes, html } from '../../html.ts';
import { place, setQuery } from '../../router.ts';
import { capital, words } from '../../text.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { shown } from './shown.ts';

const ARCHITECTURES = [
  ['', 'As declared'],
  ['0', 'BIOS'],
  ['7', 'UEFI x86-64'],
  ['16', 'UEFI x86-64, HTTP boot'],
  ['11', 'UEFI arm64'],
] as const;

export function ExplainTab({ node }: { node: Node }): VNode {
  const { query } = place.value;
  const as = LIFECYCLE_STATES.find((state) => state === query.get('as'));
  const arch = query.get('arch');
  const armed = query.get('armed');
  const read = useRead('explainNode', {
    params: { node: node.id },
    query: {
      ...(as !== undefined && { as }),
      ...(arch && { arch: Number(arch) }),
      ...(armed && { armed: armed === 'yes' }),
    },
  });
  const set = (name: string) => (event: Event) => setQuery({ [name]: (event.target as HTMLSelectElement).value });
  return html`<div class="what-if">
      <label class="field"><span>As if it were</span><select value=${as ?? ''} onChange=${set('as')}>
        <option value="">${node.state} (as it is)</option>
        ${LIFECYCLE_STATES.map((state: LifecycleState) => html`<option value=${state} key=${state}>${state}</option>`)}
      </select></label>
      <label class="field"><span>Armed</span><select value=${armed ?? ''} onChange=${set('armed')}>
        <option value="">as it is</option><option value="yes">armed</option><option value="no">not armed</option>
      </select></label>
      <label class="field"><span>Firmware</span><select value=${arch ?? ''} onChange=${set('arch')}>
        ${ARCHITECTURES.map(([value, label]) => html`<option value=${value} key=${value}>${label}</option>`)}
      </select></label>
    </div>
    ${shown(
      read,
      'the explanation',
      ({ stages, outcome, because, notes, subject }) => html`
      <p class="why-reason">${capital(because.words)}</p>
      <p class="muted">Outcome: ${words(outcome.kind)}${outcome.mode ? ` (${outcome.mode})` : ''}${subject.supposed ? '; supposed, nothing is changed' : ''}. ${because.hint}</p>
      <ol class="stages">
        ${stages.map(
          (stage) => html`<li class=${classes(!stage.reached && 'not-reached')} key=${stage.stage}>
          <h3>${capital(words(stage.stage))}</h3>
          <div>
            <p>${stage.answer}</p>
            <p class="muted">${stage.reached ? stage.asks : 'Not reached'}${stage.because.words === '' ? '' : ` — ${stage.because.words}`}</p>
            ${(stage.url ?? stage.file) && html`<code>${stage.url ?? stage.file}</code>`}
          </div>
        </li>`,
        )}
      </ol>
      ${notes.length > 0 && html`<ul class="notes">${notes.map((note) => html`<li>${note}</li>`)}</ul>`}`,
    )}`;
}
