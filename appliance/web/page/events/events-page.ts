// Events of all nodes, live, and the audit log: two tabs of one page. Filters are in the URL.

import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Answer } from '../../../contract/wire.ts';
import { type Child, classes, html } from '../html.ts';
import { onEvent } from '../live/live.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { icon } from '../parts/icon.ts';
import { Empty, FailureNotice, Loading } from '../parts/notices.ts';
import { Card, PageFrame, Shown, Table } from '../parts/page-frame.ts';
import { TabLinks } from '../parts/tabs.ts';
import { Ago } from '../parts/time-text.ts';
import { pathTo, place, setQuery } from '../router.ts';
import { mayDo } from '../session.ts';
import { useRead } from '../use-read.ts';

type Event = Answer<'listEvents'>['events'][number];
type Entry = Answer<'listAuditEntries'>['entries'][number];

const TABS = [
  { id: 'events', label: 'Events' },
  { id: 'audit', label: 'Audit' },
] as const;

export function EventsPage(): VNode {
  const audit = place.value.query.get('show') === 'audit';
  return html`<${PageFrame}
    title="Events"
    about=${audit ? 'Who changed what. The entries are a chain: a changed or missing one is found.' : 'What happened, the newest first. New events appear by themselves.'}
  >
    <${TabLinks} name="show" label="Kind of records" tabs=${TABS} />
    ${audit ? html`<${AuditLog} />` : html`<${EventLog} />`}
  <//>`;
}

const PAGE_SIZE = 200;
const MOST_SHOWN = 1000;

function EventLog(): VNode {
  const { query } = place.value;
  const node = query.get('node') ?? '';
  const kind = query.get('kind') ?? '';
  const severity = query.get('severity') ?? '';
  const read = useRead('listEvents', {
    query: { newest: true, limit: PAGE_SIZE, ...(node !== '' && { node }), ...(kind !== '' && { kind }) },
  });
  const arrived = useArrived(node, kind);
  const events = newestFirst([...(read.data?.events ?? []), ...arrived]);
  const shown = events.filter((event) => severity === '' || event.severity === severity).slice(0, MOST_SHOWN);
  return html`<${Card} title="Events" note=${`${shown.length.toLocaleString('en')} shown`} plain>
    <div class="card-body site-filters">
      ${filterField('Node', 'node', node)} ${filterField('Kind, such as lifecycle or dhcp', 'kind', kind)}
      <label class="field">
        <span>Severity</span>
        <select value=${severity} onChange=${(event: Event_) => setQuery({ severity: event.currentTarget.value })}>
          <option value="">all</option>
          <option value="info">info</option>
          <option value="warning">warning</option>
          <option value="error">error</option>
        </select>
      </label>
    </div>
    ${read.failure && html`<${FailureNotice} failure=${read.failure} retry=${read.reload} />`}
    ${read.data === null && read.failure === null && html`<${Loading} what="events" />`}
    ${
      read.data !== null &&
      (shown.length === 0
        ? html`<${Empty} title="No event matches"><p>Remove a filter. Events are kept as long as the site file says.</p><//>`
        : html`<ol class="event-list" aria-label="Events, the newest first">
            ${shown.map(eventRow)}
          </ol>`)
    }
  <//>`;
}

type Event_ = Omit<globalThis.Event, 'currentTarget'> & { readonly currentTarget: HTMLSelectElement };

const filterField = (label: string, name: string, value: string): Child =>
  html`<label class="field">
    <span>${label}</span>
    <input
      type="search"
      value=${value}
      onChange=${(event: InputEvent) => setQuery({ [name]: (event.target as HTMLInputElement).value.trim() })}
    />
  </label>`;

/** Events of the stream since the page was opened, with the same filter as the list. */
function useArrived(node: string, kind: string): readonly Event[] {
  const [arrived, setArrived] = useState<readonly Event[]>([]);
  useEffect(() => {
    setArrived([]);
    let waiting: Event[] = [];
    let timer: number | undefined;
    const stop = onEvent((event) => {
      const full = event as unknown as Event;
      if (!matches(full, node, kind)) return;
      waiting.push(full);
      // Collected, so that a storm of events does not render each of them.
      timer ??= window.setTimeout(() => {
        timer = undefined;
        const more = waiting;
        waiting = [];
        setArrived((before) => [...before, ...more].slice(-MOST_SHOWN));
      }, 250);
    });
    return () => {
      stop();
      window.clearTimeout(timer);
    };
  }, [node, kind]);
  return arrived;
}

const matches = (event: Event, node: string, kind: string): boolean =>
  (node === '' || event.hostname === node || event.node === node) &&
  (kind === '' || event.kind === kind || event.kind.startsWith(`${kind}.`));

function newestFirst(events: readonly Event[]): Event[] {
  const bySeq = new Map(events.map((event) => [event.seq, event]));
  return [...bySeq.values()].sort((one, other) => other.seq - one.seq);
}

const TONES = { info: 'neutral', warning: 'attention', error: 'bad' } as const;

const eventRow = (event: Event): Child =>
  html`<li key=${event.seq} class=${classes('event', `tone-${TONES[event.severity as keyof typeof TONES] ?? 'neutral'}`)}>
    ${icon(event.severity === 'info' ? 'dot' : 'warning')}
    <span class="event-time"><${Ago} time=${event.at} /></span>
    <span class="event-node"
      >${event.hostname === null ? '' : html`<a href=${pathTo('node', { node: event.hostname })}>${event.hostname}</a>`}</span
    >
    <span class="event-text">${event.sentence}</span>
    <code class="event-kind muted">${event.kind}</code>
  </li>`;

function AuditLog(): VNode {
  const before = place.value.query.get('after');
  const allowed = mayDo('operator');
  const read = useRead(
    'listAuditEntries',
    allowed
      ? { query: before === null ? { newest: true, limit: PAGE_SIZE } : { after: Number(before), limit: PAGE_SIZE } }
      : null,
  );
  const verdict = useRead('verifyAudit', allowed ? {} : null);
  if (!allowed) {
    return html`<${Empty} title="The audit log needs the role operator"><p>Ask an administrator for a token with that role.</p><//>`;
  }
  return html`<${Card} title="Audit" note=${verdictText(verdict.data)} plain>
    <${Shown}
      read=${read}
      what="the audit log"
      show=${(data: Answer<'listAuditEntries'>) =>
        data.entries.length === 0
          ? html`<${Empty} title="Nothing has been changed yet" />`
          : html`<${Table} label="Audit entries" head=${['When', 'Who', 'What', 'Target', 'Correlation id']}>
              ${[...data.entries].reverse().map(auditRow)}
            <//>`}
    />
  <//>`;
}

function verdictText(verdict: Answer<'verifyAudit'> | null): string {
  if (verdict === null) return 'verifying …';
  return verdict.intact
    ? `${verdict.entries.toLocaleString('en')} entries, verified: none was changed`
    : `entry ${verdict.seq ?? '?'} fails verification: ${verdict.reason ?? 'the chain is broken'}`;
}

const auditRow = ({ seq, at, actor, action, target, correlation_id }: Entry): Child =>
  html`<tr key=${seq}>
    <td><${Ago} time=${at} /></td>
    <td>${actor}</td>
    <td>${action}</td>
    <td>${target}</td>
    <td>
      ${
        correlation_id === null
          ? ''
          : html`<code>${correlation_id.slice(0, 8)}…</code><${CopyButton} text=${correlation_id} label="Copy the correlation id" />`
      }
    </td>
  </tr>`;
