// Why the node is where it is: the diagnosis with its evidence, and the next step as a button.

import type { VNode } from 'preact';
import type { Answer } from '../../../contract/wire.ts';
import { commandOf, refusalOf } from '../actions/commands.ts';
import { askCommand } from '../actions/run-on-node.ts';
import { classes, html } from '../html.ts';
import type { Row } from '../live/row.ts';
import { icon } from '../parts/icon.ts';
import { FailureNotice, Loading } from '../parts/notices.ts';
import { session } from '../session.ts';
import { plural } from '../text.ts';
import { absolute, clockTime } from '../time.ts';
import type { Read } from '../use-read.ts';
import { commandsIn } from './next-commands.ts';

type Diagnosis = Answer<'diagnoseNode'>;
type Cause = NonNullable<Diagnosis['diagnosis']>;

interface WhyProps {
  readonly node: Pick<Row, 'state' | 'failed_step' | 'allocated_to' | 'hostname'>;
  readonly nextStep: string;
  readonly read: Read<Diagnosis>;
}

export function WhyCard({ node, nextStep, read }: WhyProps): VNode {
  const { data, failure, loading, reload } = read;
  const bad = node.state === 'failed' || node.state === 'quarantined' || data?.diagnosis?.explains === true;
  return html`<section class=${classes('card why-card', bad && 'bad')} aria-labelledby="why-title">
    <header>
      <h2 id="why-title">Why</h2>
      ${data?.diagnosis && html`<span class="confidence">${data.diagnosis.confidence}</span>`}
      <button type="button" class="quiet small push" disabled=${loading} onClick=${reload}>${icon('refresh')}${loading ? 'Looking …' : 'Look again'}</button>
    </header>
    <div class="card-body">
      ${data === null && (failure === null ? html`<${Loading} what="the diagnosis" />` : html`<${FailureNotice} failure=${failure} retry=${reload} />`)}
      ${data !== null && html`<${Words} data=${data} node=${node} nextStep=${nextStep} />`}
    </div>
  </section>`;
}

function Words({ data, node, nextStep }: { data: Diagnosis; node: WhyProps['node']; nextStep: string }): VNode {
  const { diagnosis, alternatives, symptom, waits_for } = data;
  if (diagnosis === null) {
    return html`<p class="why-reason">${symptom ?? waits_for}</p>
      <${Next} text=${nextStep} node=${node} />`;
  }
  return html`<p class="why-reason">${diagnosis.reason}</p>
    ${symptom && html`<p class="muted">${symptom}</p>`}
    <${EvidenceList} cause=${diagnosis} />
    <${Next} text=${diagnosis.next_step} node=${node} />
    <p class="verify"><span class="muted">It worked when</span> ${diagnosis.verify}</p>
    ${
      alternatives.length > 0 &&
      html`<details>
      <summary>${plural(alternatives.length, 'other possible cause')}</summary>
      <ul class="alternatives">
        ${alternatives.map(
          (cause) => html`<li key=${cause.id}>
          <p><strong>${cause.reason}</strong> <span class="confidence">${cause.confidence}</span></p>
          <${EvidenceList} cause=${cause} />
          <p class="muted">${cause.next_step}</p>
        </li>`,
        )}
      </ul>
    </details>`
    }`;
}

function EvidenceList({ cause: { evidence, against } }: { cause: Cause }): VNode | null {
  if (evidence.length + against.length === 0) return null;
  const line = ({ at, source, words }: Cause['evidence'][number], kind: 'for' | 'against') =>
    html`<li class=${kind}>
      ${at ? html`<time datetime=${at} title=${absolute(at)}>${clockTime(at)}</time>` : html`<span></span>`}
      <span class="source">${source}</span>
      <span>${kind === 'against' && html`<em>against it: </em>`}${words}</span>
    </li>`;
  return html`<ul class="evidence" aria-label="Evidence">
    ${evidence.map((each) => line(each, 'for'))}${against.map((each) => line(each, 'against'))}
  </ul>`;
}

function Next({ text, node }: { text: string; node: WhyProps['node'] }): VNode {
  const who = session.value;
  const role = who.state === 'in' ? who.who.role : 'viewer';
  const offered = commandsIn(text).filter((id) => refusalOf(id, node, role) === null);
  return html`<div class="next-step">
    <p><span class="next-word">Next</span> ${text}</p>
    ${offered.map(
      (id) => html`<button type="button" class="primary" key=${id} onClick=${() => askCommand(id, node.hostname)}>
      ${commandOf(id).label}${commandOf(id).destroys && '…'}
    </button>`,
    )}
  </div>`;
}
