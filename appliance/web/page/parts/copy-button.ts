// Copies a text, and says so.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html } from '../html.ts';
import { icon } from './icon.ts';

export function CopyButton({ text, label }: { text: string; label: string }): VNode {
  const [done, setDone] = useState<'copied' | 'refused' | null>(null);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setDone('copied');
    } catch {
      // Without a secure context there is no clipboard: the text is on the screen and can be selected.
      setDone('refused');
    }
    setTimeout(() => setDone(null), 2000);
  };
  const words = { copied: 'Copied', refused: 'Select the text to copy it' };
  return html`<button type="button" class="quiet small" onClick=${copy} title=${label} aria-label=${label}>
    ${icon(done === 'copied' ? 'check' : 'copy')}<span aria-live="polite">${done === null ? '' : words[done]}</span>
  </button>`;
}
