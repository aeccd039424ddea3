// The frame of a page that shows the site rather than one node: title, what it is about, actions, and the state of its reads.

import type { VNode } from 'preact';
import type { Failure } from '../api.ts';
import { type Child, html } from '../html.ts';
import type { Read } from '../use-read.ts';
import { FailureNotice, Loading } from './notices.ts';

interface FrameProps {
  readonly title: string;
  /** One sentence: what the reader can see here. */
  readonly about?: Child;
  readonly actions?: Child;
  readonly children?: Child;
}

export const PageFrame = ({ title, about, actions, children }: FrameProps): VNode =>
  html`<div class="site-page">
    <header class="site-head">
      <div>
        <h1>${title}</h1>
        ${about && html`<p class="muted">${about}</p>`}
      </div>
      ${actions && html`<div class="site-actions">${actions}</div>`}
    </header>
    ${children}
  </div>`;

interface CardProps {
  readonly title: Child;
  readonly note?: Child;
  readonly children?: Child;
  readonly plain?: boolean;
}

export const Card = ({ title, note, children, plain = false }: CardProps): VNode =>
  html`<section class="card">
    <header><h2>${title}</h2>${note && html`<span class="muted small-text">${note}</span>`}</header>
    ${plain ? children : html`<div class="card-body">${children}</div>`}
  </section>`;

/** Shows the data of a read; before that, that it is loading or why there is none. Old data stays while it is read again. */
export function Shown<T>({ read, what, show }: { read: Read<T>; what: string; show: (data: T) => Child }): VNode {
  const failure: Failure | null = read.failure;
  if (read.data === null && failure === null) return html`<${Loading} what=${what} />`;
  return html`${failure && html`<${FailureNotice} failure=${failure} retry=${read.reload} />`}${
    read.data === null ? null : show(read.data)
  }`;
}

/** A table that scrolls in its own box, so that a phone never scrolls the whole page sideways. */
export const Table = ({ label, head, children }: { label: string; head: readonly string[]; children?: Child }): VNode =>
  html`<div class="table-box" role="region" aria-label=${label} tabindex="0">
    <table>
      <thead>
        <tr>
          ${head.map((name) => html`<th scope="col" key=${name}>${name}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${children}
      </tbody>
    </table>
  </div>`;
