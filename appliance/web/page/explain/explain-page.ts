// What a machine would get at each boot stage, and because of what: the same answer as the servers give. With "what if":
// another state, architecture, relay, armed or not.

import type { VNode } from 'preact';
import type { Answer } from '../../../contract/wire.ts';
import { LIFECYCLE_STATES, type LifecycleState } from '../../../domain/lifecycle.ts';
import { type Child, classes, html } from '../html.ts';
import { fleet, revision } from '../live/live.ts';
import { icon } from '../parts/icon.ts';
import { Empty } from '../parts/notices.ts';
import { Card, PageFrame, Shown } from '../parts/page-frame.ts';
import { pathTo, place, setQuery } from '../router.ts';
import { useRead } from '../use-read.ts';

type Explanation = Answer<'explainNode'>;

const ARCHITECTURES: readonly (readonly [string, string])[] = [
  ['0', 'BIOS (0)'],
  ['7', 'UEFI x86-64 (7)'],
  ['11', 'UEFI arm64 (11)'],
  ['16', 'UEFI HTTP x86-64 (16)'],
  ['19', 'UEFI HTTP arm64 (19)'],
];

export function ExplainPage(): VNode {
  const { query } = place.value;
  const node = query.get('node') ?? '';
  const state = query.get('as');
  const [arch, via, armed] = [query.get('arch'), query.get('via'), query.get('armed')];
  const read = useRead(
    'explainNode',
    node === ''
      ? null
      : {
          params: { node },
          query: {
            ...(arch && { arch: Number(arch) }),
            ...(via && { via }),
            ...(state && { as: state as LifecycleState }),
            ...(armed && { armed: armed === 'yes' }),
          },
        },
  );
  return html`<${PageFrame}
    title="Explain"
    about="What a machine would get if it booted from the network now. Nothing is sent and nothing changes."
  >
    <${Card} title="Machine">
      <div class="site-filters">
        <label class="field">
          <span>Node, MAC address or id</span>
          <input
            type="search"
            list="explain-nodes"
            value=${node}
            onChange=${(event: Event) => setQuery({ node: typedIn(event).trim() }, 'push')}
          />
          <${Names} />
        </label>
        ${choice(
          'In the state',
          'as',
          state,
          'its own',
          LIFECYCLE_STATES.map((each) => [each, each] as const),
        )}
        ${choice('As', 'arch', arch, 'its own architecture', ARCHITECTURES)}
        ${choice('Armed', 'armed', armed, 'as it is', [
          ['yes', 'as if armed'],
          ['no', 'as if not armed'],
        ])}
        <label class="field">
          <span>Through a relay at</span>
          <input value=${via ?? ''} placeholder="10.0.0.1" onChange=${(event: Event) => setQuery({ via: typedIn(event).trim() })} />
        </label>
      </div>
    <//>
    ${
      node === ''
        ? html`<${Empty} title="Name a machine"><p>It may also be one that is not declared: give its MAC address.</p><//>`
        : html`<${Shown} read=${read} what="the decision" show=${shown} />`
    }
  <//>`;
}

const typedIn = (event: Event): string => (event.target as HTMLInputElement).value;

/** Names to choose from; enough for a suggestion. */
function Names(): VNode {
  revision.value;
  const names = [...fleet.entries.keys()].slice(0, 500);
  return html`<datalist id="explain-nodes">${names.map((name) => html`<option value=${name} key=${name} />`)}</datalist>`;
}

const choice = (
  label: string,
  name: string,
  value: string | null,
  none: string,
  options: readonly (readonly [string, string])[],
): Child =>
  html`<label class="field">
    <span>${label}</span>
    <select value=${value ?? ''} onChange=${(event: Event) => setQuery({ [name]: typedIn(event) })}>
      <option value="">${none}</option>
      ${options.map(([id, text]) => html`<option value=${id} key=${id}>${text}</option>`)}
    </select>
  </label>`;

const OUTCOMES: Readonly<Record<Explanation['outcome']['kind'], string>> = {
  silent: 'No answer',
  'local-disk': 'It boots from its own disk',
  'service-os': 'It boots the service OS',
  installer: 'It boots the installer: its disk is overwritten',
  refusal: 'It is refused, with the reason on its screen',
  hold: 'It waits and asks again',
};

function subjectText({ mac, architecture, network, via, state, supposed }: Explanation['subject']): string {
  const where = network === null ? 'on no declared network' : `network ${network}`;
  const relay = via === null ? '' : ` through ${via}`;
  return [mac, architecture, where + relay, `${state ?? 'not declared'}${supposed ? ' (assumed)' : ''}`].join(' · ');
}

function shown({ subject, stages, outcome, because, notes }: Explanation): Child {
  const destroys = outcome.kind === 'installer' || outcome.mode === 'erase';
  return html`<div class="explanation">
    <section class=${classes('card outcome', destroys && 'destroys')}>
      <header>
        <h2>${OUTCOMES[outcome.kind]}${outcome.mode ? ` (${outcome.mode})` : ''}</h2>
        ${
          subject.hostname !== null &&
          html`<a class="small-text" href=${pathTo('node', { node: subject.hostname })}>${subject.hostname}</a>`
        }
      </header>
      <div class="card-body">
        <p>${because.words}</p>
        ${because.hint !== '' && html`<p class="muted">${because.hint}</p>`}
        <p class="muted small-text">${subjectText(subject)} · reason <code>${because.id}</code></p>
        ${notes.map((note) => html`<p class="line tone-attention" key=${note}>${icon('warning')}<span>${note}</span></p>`)}
      </div>
    </section>
    <ol class="stages" aria-label="Boot stages">
      ${stages.map(
        ({ stage, reached, asks, answer, file, url, because: reason }) =>
          html`<li class=${classes('stage', !reached && 'unreached')} key=${stage}>
            <h3>${icon(reached ? 'check' : 'minus')}${stage}${reached ? '' : html`<span class="muted"> not reached</span>`}</h3>
            ${
              reached &&
              html`<dl class="facts">
              <dt>asks</dt>
              <dd>${asks}</dd>
              <dt>gets</dt>
              <dd>${answer}${file && html` <code>${file}</code>`}${url && html` <code>${url}</code>`}</dd>
              <dt>because</dt>
              <dd>${reason.words}</dd>
            </dl>`
            }
          </li>`,
      )}
    </ol>
  </div>`;
}
