// A time, relative, with the absolute time on hover and for assistive technology.

import type { VNode } from 'preact';
import { html } from '../html.ts';
import { absolute, ago, countdown, now, span } from '../time.ts';

export const Ago = ({ time }: { time: string }): VNode =>
  html`<time datetime=${time} title=${absolute(time)}>${ago(time, now.value)}</time>`;

/** How long since: for columns. */
export const Since = ({ time }: { time: string }): VNode =>
  html`<time datetime=${time} title=${absolute(time)}>${span(now.value - Date.parse(time))}</time>`;

export function Countdown({ deadline }: { deadline: string }): VNode {
  const passed = Date.parse(deadline) <= now.value;
  return passed
    ? html`<time class="countdown passed" datetime=${deadline} title=${absolute(deadline)}>deadline passed</time>`
    : html`<time class="countdown" datetime=${deadline} title=${`until ${absolute(deadline)}`}
        >${countdown(deadline, now.value)} left</time
      >`;
}
