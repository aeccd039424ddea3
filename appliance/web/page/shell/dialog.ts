// Dialogs: one at a time, with the browser's own focus handling. Confirmation of what destroys: type the name.

import { signal } from '@preact/signals';
import type { VNode } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { asFailure, type Failure } from '../api.ts';
import { type Child, html } from '../html.ts';
import { icon } from '../parts/icon.ts';
import { FailureNotice } from '../parts/notices.ts';

const shown = signal<{ readonly title: string; readonly content: () => Child; readonly wide: boolean } | null>(null);

export const openDialog = (title: string, content: () => Child, { wide = false } = {}): void => {
  shown.value = { title, content, wide };
};
export const closeDialog = (): void => {
  shown.value = null;
};

export function Dialogs(): VNode | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const open = shown.value;
  useEffect(() => {
    if (open !== null && !dialog.current?.open) dialog.current?.showModal();
  }, [open]);
  if (open === null) return null;
  return html`<dialog
    ref=${dialog}
    class=${open.wide ? 'wide' : ''}
    aria-labelledby="dialog-title"
    onClose=${closeDialog}
    onClick=${(event: MouseEvent) => event.target === dialog.current && closeDialog()}
  >
    <header>
      <h2 id="dialog-title">${open.title}</h2>
      <button type="button" class="quiet small" aria-label="Close" onClick=${closeDialog}>${icon('cross')}</button>
    </header>
    <div class="dialog-body">${open.content()}</div>
  </dialog>`;
}

interface Confirmation {
  readonly title: string;
  /** What happens, to whom. */
  readonly body: Child;
  /** A verb: "Deploy 3 machines". */
  readonly action: string;
  readonly danger?: boolean;
  /** What must be typed; left out: a click is enough. */
  readonly typed?: string;
  readonly run: (note: string) => Promise<void>;
}

export const confirmAction = (confirmation: Confirmation): void =>
  openDialog(confirmation.title, () => html`<${ConfirmForm} ...${confirmation} />`);

function ConfirmForm({ body, action, danger = false, typed, run }: Confirmation): VNode {
  const [text, setText] = useState('');
  const [note, setNote] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure | null>(null);
  const ready = !busy && (typed === undefined || text.trim() === typed);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!ready) return;
    setBusy(true);
    setFailure(null);
    try {
      await run(note.trim());
      closeDialog();
    } catch (error) {
      setFailure(asFailure(error));
      setBusy(false);
    }
  };
  return html`<form onSubmit=${submit}>
    ${body}
    ${
      typed !== undefined &&
      html`<label class="field">
      <span>Type <strong class="typed">${typed}</strong> to confirm</span>
      <input
        autofocus
        autocomplete="off"
        autocapitalize="off"
        spellcheck=${false}
        value=${text}
        onInput=${(event: InputEvent) => setText((event.target as HTMLInputElement).value)}
      />
    </label>`
    }
    <label class="field">
      <span>Reason, for the record (optional)</span>
      <input
        maxlength="500"
        autofocus=${typed === undefined}
        value=${note}
        onInput=${(event: InputEvent) => setNote((event.target as HTMLInputElement).value)}
      />
    </label>
    ${failure && html`<${FailureNotice} failure=${failure} />`}
    <footer>
      <button type="button" onClick=${closeDialog}>Back</button>
      <button type="submit" class=${danger ? 'danger primary' : 'primary'} disabled=${!ready}>
        ${busy ? 'Working …' : action}
      </button>
    </footer>
  </form>`;
}
