// The boot as a waterfall: this one against the median of similar machines. A table, so that it reads without the drawing.

import type { VNode } from 'preact';
import type { Answer } from '../../../contract/wire.ts';
import { classes, html } from '../html.ts';
import { Empty, FailureNotice, Loading } from '../parts/notices.ts';
import { Ago } from '../parts/time-text.ts';
import { capital, plural, words } from '../text.ts';
import { now, seconds } from '../time.ts';
import type { Read } from '../use-read.ts';
import { type Bar, waterfall } from './waterfall.ts';

const AXIS = 1000;

export function BootCard({ timeline }: { timeline: Read<Answer<'getNodeTimeline'>> }): VNode {
  return html`<section class="card boot-card" aria-labelledby="boot-title">
    <header>
      <h2 id="boot-title">Boot</h2>
      <span class="legend"><span class="swatch this"></span>this boot <span class="swatch median"></span>median of similar machines</span>
    </header>
    <${Content} timeline=${timeline} />
  </section>`;
}

function Content({ timeline: { data, failure, reload } }: { timeline: Read<Answer<'getNodeTimeline'>> }): VNode {
  if (data === null) {
    return failure === null
      ? html`<${Loading} what="the boot" />`
      : html`<div class="card-body"><${FailureNotice} failure=${failure} retry=${reload} /></div>`;
  }
  const running = data.began !== null && data.ended === null;
  const { bars, totalSeconds } = waterfall(data, running ? now.value : now.peek());
  if (bars.length === 0) {
    return html`<${Empty} title="It has not booted for any work yet"><p>Commission or deploy it: every stage appears here while it happens.</p><//>`;
  }
  return html`<div class="card-body">
    <p class="boot-summary">
      ${capital(data.work ?? 'Work')} began ${data.began && html`<${Ago} time=${data.began} />`},
      ${running ? ' runs for ' : ' took '}<strong>${seconds(totalSeconds)}</strong>${data.attempts > 1 && `, booted ${data.attempts} times`}
    </p>
    <table class="waterfall">
      <caption class="for-reader">Stages of the boot, with their length and the median of similar machines</caption>
      <thead class="for-reader"><tr><th scope="col">Stage</th><th scope="col">When</th><th scope="col">Took</th><th scope="col">Median</th></tr></thead>
      <tbody>${bars.map((bar) => html`<${Row} bar=${bar} key=${bar.stage} />`)}</tbody>
    </table>
    ${data.steps.length > 0 && html`<${Steps} steps=${data.steps} />`}
  </div>`;
}

function Row({ bar }: { bar: Bar }): VNode {
  const x = (share: number): number => Math.round(share * AXIS);
  const width = (share: number): number => Math.max(3, Math.round(share * AXIS));
  const kind = bar.running ? 'running' : bar.slow ? 'slow' : 'done';
  return html`<tr class=${classes(bar.slow && 'is-slow')} title=${bar.waitsFor}>
    <th scope="row">${capital(words(bar.stage))}</th>
    <td class="bars">
      <svg viewBox=${`0 0 ${AXIS} 16`} preserveAspectRatio="none" aria-hidden="true">
        <rect class=${`bar-this ${kind}`} x=${x(bar.start)} y="1" width=${width(bar.length)} height="8" />
        ${bar.median !== null && html`<rect class="bar-median" x=${x(bar.start)} y="11" width=${width(bar.median)} height="4" />`}
      </svg>
    </td>
    <td class="took">${seconds(bar.seconds)}${bar.running && ' …'}${bar.slow && html`<span class="tone-attention"> slow</span>`}</td>
    <td class="median-text">${bar.medianSeconds === null ? '' : html`<span title=${`Median of ${plural(bar.samples, 'boot')}`}>${seconds(bar.medianSeconds)}</span>`}</td>
  </tr>`;
}

function Steps({ steps }: { steps: Answer<'getNodeTimeline'>['steps'] }): VNode {
  return html`<ol class="steps" aria-label="Steps of the work">
    ${steps.map(({ step, began, ended, ok }) => {
      const took = ended === null ? null : (Date.parse(ended) - Date.parse(began)) / 1000;
      const kind = ok === null ? 'tone-progress' : ok ? 'tone-good' : 'tone-bad';
      return html`<li key=${step + began}><span class=${kind}>${ok === null ? '◐' : ok ? '✓' : '✕'}</span> ${words(step)}${took !== null && html` <span class="muted">${seconds(took)}</span>`}</li>`;
    })}
  </ol>`;
}
