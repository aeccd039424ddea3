// An action on several nodes: first who is affected and who is refused and why, then the result of each.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html } from '../html.ts';
import type { Row } from '../live/row.ts';
import { icon } from '../parts/icon.ts';
import { StateMark } from '../parts/state-mark.ts';
import { closeDialog, openDialog } from '../shell/dialog.ts';
import { capital, plural } from '../text.ts';
import { type Outcome, onMany } from './on-many.ts';

export interface BulkAction {
  /** "Deploy" */
  readonly label: string;
  /** What happens to each, in a sentence. */
  readonly explains: string;
  /** What is lost; null: nothing. */
  readonly destroys: string | null;
  readonly refusal: (row: Row) => string | null;
  readonly run: (node: string, note: string, key: string) => Promise<unknown>;
}

const machines = (count: number): string => plural(count, 'machine');

export const openBulkDialog = (action: BulkAction, rows: readonly Row[]): void =>
  openDialog(`${action.label} ${machines(rows.length)}`, () => html`<${BulkForm} action=${action} rows=${rows} />`, {
    wide: true,
  });

function BulkForm({ action, rows }: { action: BulkAction; rows: readonly Row[] }): VNode {
  const [typed, setTyped] = useState('');
  const [note, setNote] = useState('');
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome> | null>(null);
  const [over, setOver] = useState(false);
  const refused = new Map(
    rows.flatMap((row) => {
      const reason = action.refusal(row);
      return reason === null ? [] : [[row.hostname, reason] as const];
    }),
  );
  const willing = rows.filter(({ hostname }) => !refused.has(hostname));
  const phrase =
    willing.length === 1 ? (willing[0]?.hostname ?? '') : `${action.label.toLowerCase()} ${willing.length}`;
  const ready = willing.length > 0 && outcomes === null && (action.destroys === null || typed.trim() === phrase);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (!ready) return;
    await onMany(
      willing.map(({ hostname }) => hostname),
      (node, key) => action.run(node, note.trim(), key),
      setOutcomes,
    );
    setOver(true);
  };
  return html`<form onSubmit=${submit}>
    <p>${action.explains}</p>
    ${action.destroys !== null && html`<p class="warning-text">${icon('warning')}This ${action.destroys}.</p>`}
    <${Preview} rows=${rows} refused=${refused} outcomes=${outcomes} />
    ${
      outcomes === null &&
      willing.length > 0 &&
      html`
      ${
        action.destroys !== null &&
        html`<label class="field">
        <span>Type <strong class="typed">${phrase}</strong> to confirm</span>
        <input autofocus autocomplete="off" autocapitalize="off" spellcheck=${false} value=${typed}
          onInput=${(event: InputEvent) => setTyped((event.target as HTMLInputElement).value)} />
      </label>`
      }
      <label class="field">
        <span>Reason, for the record (optional)</span>
        <input maxlength="500" value=${note}
          onInput=${(event: InputEvent) => setNote((event.target as HTMLInputElement).value)} />
      </label>`
    }
    <footer>
      ${
        over
          ? html`<${Result} outcomes=${outcomes} /><button type="button" class="primary" onClick=${closeDialog}>Close</button>`
          : html`<button type="button" onClick=${closeDialog}>Back</button>
            <button type="submit" class=${action.destroys ? 'danger primary' : 'primary'} disabled=${!ready}>
              ${outcomes === null ? `${action.label} ${machines(willing.length)}` : 'Working …'}
            </button>`
      }
    </footer>
  </form>`;
}

interface PreviewProps {
  readonly rows: readonly Row[];
  readonly refused: ReadonlyMap<string, string>;
  readonly outcomes: ReadonlyMap<string, Outcome> | null;
}

const SHOWN = 200;

/** Refused ones first: they are what the reader must decide about. */
function Preview({ rows, refused, outcomes }: PreviewProps): VNode {
  const isRefused = (name: string): boolean => refused.has(name) || outcomes?.get(name)?.state === 'refused';
  const sorted = [...rows].sort((a, b) => Number(isRefused(b.hostname)) - Number(isRefused(a.hostname)));
  return html`<div class="preview" tabindex="0" role="region" aria-label="Affected machines">
    <table>
      <thead><tr><th scope="col">Machine</th><th scope="col">State</th><th scope="col">Rack</th><th scope="col">Result</th></tr></thead>
      <tbody>
        ${sorted.slice(0, SHOWN).map(
          (row) => html`<tr key=${row.hostname}>
            <th scope="row">${row.hostname}</th>
            <td><${StateMark} state=${row.state} step=${row.failed_step} /></td>
            <td>${row.rack === null ? '–' : `${row.rack}${row.unit === null ? '' : ` · ${row.unit}`}`}</td>
            <td><${Verdict} reason=${refused.get(row.hostname) ?? null} outcome=${outcomes?.get(row.hostname) ?? null} /></td>
          </tr>`,
        )}
      </tbody>
    </table>
    ${sorted.length > SHOWN && html`<p class="muted">and ${sorted.length - SHOWN} more</p>`}
  </div>`;
}

function Verdict({ reason, outcome }: { reason: string | null; outcome: Outcome | null }): VNode {
  if (reason !== null) return html`<span class="tone-bad">${icon('cross')} refused: ${reason}</span>`;
  if (outcome === null) return html`<span class="muted">will be asked</span>`;
  if (outcome.state === 'waiting') return html`<span class="muted">waits</span>`;
  if (outcome.state === 'running') return html`<span class="tone-progress">${icon('half')} asking …</span>`;
  if (outcome.state === 'done') return html`<span class="tone-good">${icon('check')} accepted</span>`;
  const { failure } = outcome;
  return html`<span class="tone-bad">${icon('cross')} refused: ${failure?.message}</span>
    ${failure?.details.map((detail) => html`<div class="muted small-text">${detail}</div>`)}
    ${failure && html`<div class="muted small-text">${failure.hint}</div>`}`;
}

function Result({ outcomes }: { outcomes: ReadonlyMap<string, Outcome> | null }): VNode {
  const all = [...(outcomes?.values() ?? [])];
  const done = all.filter(({ state }) => state === 'done').length;
  const refused = all.length - done;
  const text = `${machines(done)} accepted${refused > 0 ? `, ${refused} refused` : ''}`;
  return html`<p class="result" role="status">${capital(text)}.</p>`;
}
