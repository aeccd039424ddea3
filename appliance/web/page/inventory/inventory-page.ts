// Inventory files in the browser: open one or write it, see what it changes on which machine, apply it. The plan is the dry run of the
// same operation that applies.

import type { VNode } from 'preact';
import { useRef, useState } from 'preact/hooks';
import type { Answer } from '../../../contract/wire.ts';
import { asFailure, call, type Failure } from '../api.ts';
import { type Child, classes, html } from '../html.ts';
import { icon } from '../parts/icon.ts';
import { Empty, FailureNotice } from '../parts/notices.ts';
import { Card, PageFrame } from '../parts/page-frame.ts';
import { pathTo } from '../router.ts';
import { mayDo } from '../session.ts';
import { confirmAction } from '../shell/dialog.ts';
import { toastDone } from '../shell/toasts.ts';
import { type ReadFile, readDocument } from './read-document.ts';

type Plan = Answer<'applyInventory'>;

interface Planned {
  /** What was planned: an edit after it needs a new plan. */
  readonly text: string;
  readonly file: string;
  readonly plan: Plan;
}

const EXAMPLE = `# A file owns the objects that it declares: what is deleted from it is removed.
nodes:
  - name: node06
    sku: gp1
    profile: worker
    interfaces:
      - { name: eth0, mac: "52:54:00:12:34:5b", network: provisioning }
`;

export function InventoryPage(): VNode {
  const [file, setFile] = useState('');
  const [text, setText] = useState('');
  const [planned, setPlanned] = useState<Planned | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [busy, setBusy] = useState(false);
  const current = planned !== null && planned.text === text && planned.file === file ? planned.plan : null;

  const send = async (dryRun: boolean): Promise<Plan | null> => {
    const read: ReadFile = readDocument(file, text);
    setProblem(read.ok ? null : read.problem);
    setFailure(null);
    if (!read.ok) return null;
    const { name, document } = read;
    return call('applyInventory', {
      body: { sources: [{ name, file, document }], dry_run: dryRun, ...(dryRun && { diff: true }) },
    });
  };
  const plan = async (): Promise<void> => {
    setBusy(true);
    try {
      const answer = await send(true);
      setPlanned(answer && { text, file, plan: answer });
    } catch (error) {
      setPlanned(null);
      setFailure(asFailure(error));
    } finally {
      setBusy(false);
    }
  };
  const apply = (): void =>
    confirmAction({
      title: `Apply ${file}?`,
      body: html`<p>${summary(current)} Nothing boots or stops because of it.</p>`,
      action: 'Apply',
      run: async () => {
        const answer = await send(false);
        if (answer === null) return;
        toastDone(`${file} is applied (revision ${answer.revision})`);
        setPlanned(null);
      },
    });
  return html`<${PageFrame}
    title="Inventory"
    about="Open an inventory file or write one, see what it would change, then apply it."
  >
    <div class="inventory">
      <${Card} title="File">
        <${FileFields} file=${file} setFile=${setFile} setText=${setText} />
        <label class="field">
          <span>YAML or JSON</span>
          <textarea
            class="inventory-text mono"
            rows="22"
            spellcheck=${false}
            placeholder=${EXAMPLE}
            value=${text}
            onInput=${(event: InputEvent) => setText((event.target as HTMLTextAreaElement).value)}
          ></textarea>
        </label>
        ${problem && html`<p class="line tone-bad" role="alert">${icon('warning')}<span>${problem}</span></p>`}
        <div class="site-actions">
          <button type="button" class="primary" disabled=${busy || text.trim() === '' || !mayDo('admin')} onClick=${() => void plan()}>
            ${busy ? 'Planning …' : 'Show what it changes'}
          </button>
          <button type="button" disabled=${!canApply(current)} onClick=${apply}>Apply…</button>
        </div>
        ${!mayDo('admin') && html`<p class="muted">Planning and applying need the role admin, because a file may remove nodes.</p>`}
      <//>
      <div>
        ${failure && html`<${FailureNotice} failure=${failure} />`}
        ${current ? html`<${PlanView} plan=${current} />` : failure === null && html`<${Empty} title="No plan yet"><p>The plan lists each object that would be created, changed or removed, and what changes on each machine.</p><//>`}
      </div>
    </div>
  <//>`;
}

const canApply = (plan: Plan | null): boolean =>
  plan !== null && plan.changes.length > 0 && !plan.changes.some(({ change }) => change === 'refused');

function FileFields(props: { file: string; setFile: (name: string) => void; setText: (text: string) => void }): VNode {
  const chooser = useRef<HTMLInputElement>(null);
  const open = async (): Promise<void> => {
    const chosen = chooser.current?.files?.[0];
    if (!chosen) return;
    props.setFile(chosen.name);
    props.setText(await chosen.text());
  };
  return html`<div class="site-filters">
    <label class="field">
      <span>Open a file</span>
      <input type="file" accept=".yaml,.yml,.json" ref=${chooser} onChange=${() => void open()} />
    </label>
    <label class="field">
      <span>Its name</span>
      <input value=${props.file} placeholder="rack12.yaml" onInput=${(event: InputEvent) => props.setFile((event.target as HTMLInputElement).value.trim())} />
    </label>
  </div>`;
}

function summary(plan: Plan | null): string {
  if (plan === null) return '';
  const count = (kind: string): number => plan.changes.filter(({ change }) => change === kind).length;
  const parts = (['created', 'changed', 'removed', 'refused'] as const).flatMap((kind) =>
    count(kind) === 0 ? [] : [`${count(kind)} ${kind}`],
  );
  return `${[...parts, `${plan.unchanged} unchanged`].join(', ')}.`;
}

const TONES = { created: 'good', changed: 'progress', removed: 'bad', refused: 'bad' } as const;
const MARKS = { created: '+', changed: '~', removed: '−', refused: '!' } as const;

function PlanView({ plan }: { plan: Plan }): VNode {
  return html`<${Card} title="Plan" note=${summary(plan)}>
    ${(plan.warnings ?? []).map((text) => html`<p class="line tone-attention" key=${text}>${icon('warning')}<span>${text}</span></p>`)}
    ${plan.changes.length === 0 && html`<p class="line tone-good">${icon('check')}<span>It changes nothing.</span></p>`}
    <ul class="plan">${plan.changes.map(changeView)}</ul>
    ${(plan.renderings ?? []).length > 0 && html`<h3>What machines would be given</h3><ul class="plan">${(plan.renderings ?? []).map(renderingView)}</ul>`}
  <//>`;
}

const changeView = ({ kind, name, change, details }: Plan['changes'][number]): Child =>
  html`<li key=${`${kind} ${name}`}>
    <p class=${classes(`tone-${TONES[change]}`)}><strong>${MARKS[change]} ${kind} ${name}</strong> ${change}</p>
    ${details.map((detail) => html`<p class="muted mono" key=${detail}>${detail}</p>`)}
  </li>`;

const renderingView = (edited: NonNullable<Plan['renderings']>[number]): Child =>
  html`<li key=${edited.node}>
    <details>
      <summary><a href=${pathTo('node', { node: edited.node }, { tab: 'renderings' })}>${edited.node}</a></summary>
      <pre tabindex="0" aria-label=${`Changes of ${edited.node}`}>${renderedText(edited)}</pre>
    </details>
  </li>`;

/** The changed lines of each file, as the appliance compares them. */
const renderedText = ({ files, reasons }: NonNullable<Plan['renderings']>[number]): string =>
  [
    ...reasons.map((reason) => `cannot be rendered: ${reason}`),
    ...files.map(({ path, change, added, removed, diff }) => diff || `${change} ${path} (+${added} −${removed})`),
  ].join('\n');
