// Short messages about what was done. A refusal stays until it is closed, with its reason.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import type { Failure } from '../api.ts';
import { html } from '../html.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { icon } from '../parts/icon.ts';
import { capital } from '../text.ts';

interface Toast {
  readonly id: number;
  readonly kind: 'done' | 'refused';
  readonly text: string;
  readonly details: readonly string[];
  readonly correlationId: string | null;
}

const toasts = signal<readonly Toast[]>([]);
let last = 0;
const DONE_MS = 6000;

function show(toast: Omit<Toast, 'id'>): void {
  last += 1;
  const id = last;
  toasts.value = [...toasts.value.slice(-3), { ...toast, id }];
  if (toast.kind === 'done') setTimeout(() => close(id), DONE_MS);
}

const close = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

export const toastDone = (text: string): void => show({ kind: 'done', text, details: [], correlationId: null });

export const toastFailure = (what: string, { message, details, hint, correlationId }: Failure): void =>
  show({ kind: 'refused', text: `${what}: ${message}`, details: [...details, hint], correlationId });

export function Toasts(): VNode {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map(
      ({ id, kind, text, details, correlationId }) =>
        html`<div class=${`toast ${kind}`} key=${id}>
          ${icon(kind === 'done' ? 'check' : 'warning')}
          <div>
            <p>${capital(text)}</p>
            ${details.map((detail) => html`<p class="detail">${detail}</p>`)}
            ${
              correlationId &&
              html`<p class="detail">
              Correlation id <code>${correlationId}</code><${CopyButton} text=${correlationId} label="Copy the correlation id" />
            </p>`
            }
          </div>
          <button type="button" class="quiet small" aria-label="Close this message" onClick=${() => close(id)}>
            ${icon('cross')}
          </button>
        </div>`,
    )}
  </div>`;
}
