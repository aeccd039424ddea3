// Every state without data has words and a next step: loading, empty, failed, offline, not allowed.

import type { VNode } from 'preact';
import type { Failure } from '../api.ts';
import { type Child, html } from '../html.ts';
import { session } from '../session.ts';
import { capital } from '../text.ts';
import { CopyButton } from './copy-button.ts';
import { icon } from './icon.ts';

export const Loading = ({ what }: { what: string }): VNode =>
  html`<p class="notice loading" role="status"><span class="spinner" aria-hidden="true"></span>Loading ${what} …</p>`;

export const Empty = ({ title, children }: { title: string; children?: Child }): VNode =>
  html`<div class="notice empty">
    <p class="notice-title">${title}</p>
    ${children}
  </div>`;

const sentence = (text: string): string => capital(/[.!?…]$/.test(text) ? text : `${text}.`);

/** `retry`: what to do again, when that can help. */
export function FailureNotice({ failure, retry }: { failure: Failure; retry?: () => void }): VNode {
  const { code, message, details, correlationId } = failure;
  const title = code === 'forbidden' ? 'You may not do this' : code === 'offline' ? 'No connection' : null;
  return html`<div class="notice failure" role="alert">
    ${icon(code === 'forbidden' ? 'lock' : 'warning')}
    <div>
      ${title && html`<p class="notice-title">${title}</p>`}
      <p>${sentence(message)}</p>
      ${
        details.length > 0 &&
        html`<ul>
        ${details.map((detail) => html`<li>${detail}</li>`)}
      </ul>`
      }
      <p class="next">${nextStep(failure)}</p>
      <p class="notice-foot">
        ${retry && html`<button type="button" onClick=${retry}>${icon('refresh')}Try again</button>`}
        ${
          correlationId &&
          html`<span class="correlation"
          >Correlation id <code>${correlationId}</code><${CopyButton} text=${correlationId} label="Copy the correlation id"
        /></span>`
        }
      </p>
    </div>
  </div>`;
}

function nextStep({ code, hint }: Failure): string {
  if (code !== 'forbidden') return hint;
  const who = session.value;
  const name = who.state === 'in' ? `You are signed in as ${who.who.actor}. ` : '';
  return `${name}Ask an administrator for a token with another role, or sign in with one that you have.`;
}
