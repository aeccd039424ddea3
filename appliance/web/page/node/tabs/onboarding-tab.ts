// Onboarding runs of the node: each step with its outcome.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { Ago } from '../../parts/time-text.ts';
import { words } from '../../text.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { useNodeEvents } from '../use-node-events.ts';
import { shown } from './shown.ts';

const TONES: Readonly<Record<string, string>> = { done: 'tone-good', failed: 'tone-bad', running: 'tone-progress' };

export function OnboardingTab({ node }: { node: Node }): VNode {
  const read = useRead('listOnboardings', { query: { hostname: node.hostname } });
  useNodeEvents(node.id, read.reload);
  return shown(read, 'the onboarding runs', ({ onboardings }) =>
    onboardings.length === 0
      ? html`<${Empty} title="No onboarding runs"><p>A run takes a host from its BMC address to an enrolled node: <code>coldiron onboard</code></p><//>`
      : html`${onboardings.map(
          (run) => html`<article class="run" key=${run.id}>
          <h3>${words(run.state)} <span class="muted">attempt ${run.attempt}, by ${run.requested_by}, <${Ago} time=${run.created_at} /></span></h3>
          ${run.failure && html`<p class="tone-bad">${run.failure.reason}</p>`}
          <p class="muted">${run.next_step}</p>
          <ol class="steps">${run.steps.map((step) => html`<li key=${step.step + step.attempt}><span class=${TONES[step.outcome] ?? 'muted'}>${words(step.step)}: ${step.outcome}</span>${step.reason && html` <span class="muted">${step.reason}</span>`}</li>`)}</ol>
        </article>`,
        )}`,
  );
}
