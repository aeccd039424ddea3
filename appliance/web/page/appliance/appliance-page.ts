// The appliance itself: what is wrong with it, its services and listeners, what it advertises, its certificates and receivers.

import type { VNode } from 'preact';
import type { Answer } from '../../../contract/wire.ts';
import { type Child, html } from '../html.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { icon } from '../parts/icon.ts';
import { Empty } from '../parts/notices.ts';
import { Card, PageFrame, Shown, Table } from '../parts/page-frame.ts';
import { Ago } from '../parts/time-text.ts';
import { capital } from '../text.ts';
import { useRead } from '../use-read.ts';

export function AppliancePage(): VNode {
  const reads = {
    health: useRead('getHealth', {}),
    problems: useRead('listApplianceProblems', {}),
    listeners: useRead('listListeners', {}),
    contract: useRead('checkBootContract', {}),
    authorities: useRead('getAuthorities', {}),
    exports: useRead('listExports', {}),
  };
  const reload = (): void => {
    for (const read of Object.values(reads)) read.reload();
  };
  return html`<${PageFrame}
    title="Appliance"
    about="Whether the appliance can do its work: services, files, certificates and receivers of events."
    actions=${html`<button type="button" onClick=${reload}>${icon('refresh')}Check again</button>`}
  >
    <div class="two-columns">
      <${Card} title="Problems">
        <${Shown} read=${reads.problems} what="problems" show=${problemList} />
      <//>
      <${Card} title="Services">
        <${Shown} read=${reads.health} what="services" show=${services} />
        <${Shown} read=${reads.listeners} what="listeners" show=${listeners} />
      <//>
      <${Card} title="Boot contract" note="what is advertised is fetched from the running servers">
        <${Shown} read=${reads.contract} what="the boot contract" show=${contract} />
      <//>
      <${Card} title="Certificates and keys">
        <${Shown} read=${reads.authorities} what="certificates" show=${certificates} />
      <//>
    </div>
    <${Card} title="Exports" note="events that leave the appliance" plain>
      <${Shown} read=${reads.exports} what="exports" show=${exportTable} />
    <//>
  <//>`;
}

const fine = (text: string): Child => html`<p class="tone-good line">${icon('check')}<span>${text}</span></p>`;

type Problem = Answer<'listApplianceProblems'>['problems'][number];

/** One entry for each next step: twenty missing files need one command. */
function problemList({ problems }: Answer<'listApplianceProblems'>): Child {
  if (problems.length === 0) return fine('The appliance finds no problem with itself.');
  const groups = new Map<string, Problem[]>();
  for (const problem of problems) groups.set(problem.next_step, [...(groups.get(problem.next_step) ?? []), problem]);
  return html`<ul class="problems">
    ${[...groups].map(
      ([step, group]) =>
        html`<li key=${step}>
          ${group.map(
            ({ id, subject, severity, since, words }) =>
              html`<p class=${`line ${severity === 'error' ? 'tone-bad' : 'tone-attention'}`} key=${`${id} ${subject}`}>
                ${icon('warning')}<span>${capital(words)} <span class="muted">(since <${Ago} time=${since} />)</span></span>
              </p>`,
          )}
          <p class="command"><code>${step}</code><${CopyButton} text=${step} label="Copy the command" /></p>
        </li>`,
    )}
  </ul>`;
}

const SERVICE_WORDS = {
  running: ['good', 'check', 'running'],
  off: ['neutral', 'minus', 'off: no network needs it'],
  starting: ['progress', 'half', 'starting'],
  failed: ['bad', 'cross', 'failed'],
} as const;

const services = ({ services: states }: Answer<'getHealth'>): Child =>
  html`<dl class="facts">
    ${Object.entries(states).map(([name, state]) => {
      const [tone, mark, words] = SERVICE_WORDS[state];
      return html`<dt>${name.toUpperCase()}</dt><dd class=${`tone-${tone} line`}>${icon(mark)}<span>${words}</span></dd>`;
    })}
  </dl>`;

const listeners = (answer: Answer<'listListeners'>): Child =>
  answer.listeners.length === 0
    ? html`<p class="muted">No network names an interface, so nothing listens for DHCP and TFTP.</p>`
    : html`<dl class="facts">
        ${answer.listeners.map(
          ({ service, where, problem }) =>
            html`<dt>${service.toUpperCase()} at ${where}</dt>
              <dd class=${`line ${problem === null ? 'tone-good' : 'tone-bad'}`}>
                ${icon(problem === null ? 'check' : 'cross')}<span>${problem ?? 'answers'}</span>
              </dd>`,
        )}
      </dl>`;

function contract({ problems, missing }: Answer<'checkBootContract'>): Child {
  if (problems.length + missing.length === 0) return fine('Everything that machines can be sent is served.');
  const files = missing.length === 1 ? '1 file is' : `${missing.length} files are`;
  return html`${problems.map((text) => html`<p class="line tone-bad" key=${text}>${icon('cross')}<span>${capital(text)}</span></p>`)}
    ${
      missing.length > 0 &&
      html`<details open=${missing.length <= 5}>
        <summary class="tone-attention">${files} missing. Build them: <code>coldiron assets build</code></summary>
        <ul class="missing">
          ${missing.map(
            ({ file, what, architectures }) =>
              html`<li key=${file}><code>${file}</code> <span class="muted">${what}, ${architectures.join(', ')}</span></li>`,
          )}
        </ul>
      </details>`
    }`;
}

const certificates = ({ authorities, expiring, stale, task_signing_keys }: Answer<'getAuthorities'>): Child =>
  html`${
    authorities.length === 0
      ? html`<p class="muted">There is no authority yet: the node API is off.</p>`
      : html`<${Table} label="Authorities" head=${['Authority', 'State', 'Valid until']}>
          ${authorities.map(
            ({ fingerprint, state, not_after }) =>
              html`<tr key=${fingerprint}>
                <td><code>${fingerprint.slice(0, 16)}…</code></td>
                <td>${state}</td>
                <td><${Ago} time=${not_after} /></td>
              </tr>`,
          )}
        <//>`
  }
  ${expiring.length === 0 ? fine('No certificate expires within 7 days.') : holders('Expires within 7 days', expiring)}
  ${stale.length > 0 && holders('Still issued by the outgoing authority', stale)}
  <p class="muted">${task_signing_keys.length} task signing ${task_signing_keys.length === 1 ? 'key' : 'keys'}</p>`;

const holders = (title: string, list: Answer<'getAuthorities'>['expiring']): Child =>
  html`<h3>${title}</h3>
    <ul>
      ${list.map(
        ({ holder, kind, serial, not_after }) =>
          html`<li class="line tone-attention" key=${serial}>
            ${icon('clock')}<span>${holder} (${kind}): <${Ago} time=${not_after} /></span>
          </li>`,
      )}
    </ul>`;

const EXPORT_TONES = { delivering: 'good', starting: 'progress', waiting: 'attention', unreachable: 'bad' } as const;

const exportTable = ({ exports }: Answer<'listExports'>): Child =>
  exports.length === 0
    ? html`<${Empty} title="No receiver is declared"><p>Webhooks, Loki and syslog are declared below <code>export:</code> in the site file.</p><//>`
    : html`<${Table} label="Receivers" head=${['Receiver', 'Kind', 'State', 'Behind', 'Dead letters', 'Last error']}>
        ${exports.map(
          ({ name, kind, state, lag_events, dead_letters, last_error }) =>
            html`<tr key=${name}>
              <td>${name}</td>
              <td>${kind}</td>
              <td class=${`tone-${EXPORT_TONES[state]}`}>${state}</td>
              <td>${lag_events === null ? '' : `${lag_events} events`}</td>
              <td>${dead_letters}</td>
              <td>${last_error ?? ''}</td>
            </tr>`,
        )}
      <//>`;
