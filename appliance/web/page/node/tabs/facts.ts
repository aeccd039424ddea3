// Facts as the service OS reported them: any JSON, as a list of terms.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { words } from '../../text.ts';

const DEEPEST = 6;

export function Facts({ value, depth = 0 }: { value: unknown; depth?: number }): VNode {
  if (value === null || typeof value !== 'object' || depth >= DEEPEST) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return html`<span>${value === null || value === '' ? '–' : text}</span>`;
  }
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item !== 'object' || item === null))
      return html`<span>${value.join(', ') || '–'}</span>`;
    return html`<ol class="fact-list">${value.map((item) => html`<li><${Facts} value=${item} depth=${depth + 1} /></li>`)}</ol>`;
  }
  return html`<dl class="facts">
    ${Object.entries(value).map(([name, item]) => html`<dt>${words(name)}</dt><dd><${Facts} value=${item} depth=${depth + 1} /></dd>`)}
  </dl>`;
}
