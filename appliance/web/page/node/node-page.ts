// One node: why it is where it is, how it booted, and everything known about it.

import type { ComponentType, VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Answer } from '../../../contract/wire.ts';
import { COMMANDS, refusalOf } from '../actions/commands.ts';
import { askCommand } from '../actions/run-on-node.ts';
import { html } from '../html.ts';
import { fleet, revision } from '../live/live.ts';
import { icon } from '../parts/icon.ts';
import { Menu, type MenuItem } from '../parts/menu.ts';
import { FailureNotice, Loading } from '../parts/notices.ts';
import { HealthMark, StateMark } from '../parts/state-mark.ts';
import { TabLinks } from '../parts/tabs.ts';
import { Ago, Countdown } from '../parts/time-text.ts';
import { pathTo, place } from '../router.ts';
import { mayDo, session } from '../session.ts';
import { useRead } from '../use-read.ts';
import { BootCard } from './boot-card.ts';
import { AllocationsTab } from './tabs/allocations-tab.ts';
import { AuditTab } from './tabs/audit-tab.ts';
import { CertificatesTab } from './tabs/certificates-tab.ts';
import { ExplainTab } from './tabs/explain-tab.ts';
import { HardwareTab } from './tabs/hardware-tab.ts';
import { OnboardingTab } from './tabs/onboarding-tab.ts';
import { PowerTab } from './tabs/power-tab.ts';
import { RenderingsTab } from './tabs/renderings-tab.ts';
import { TasksTab } from './tabs/tasks-tab.ts';
import { TrailTab } from './tabs/trail-tab.ts';
import { useNodeEvents } from './use-node-events.ts';
import { WhyCard } from './why-card.ts';

export type Node = Answer<'getNode'>;
type NodeTab = ComponentType<{ readonly node: Node }>;

const TABS: readonly { readonly id: string; readonly label: string; readonly show: NodeTab }[] = [
  { id: 'trail', label: 'Trail', show: TrailTab },
  { id: 'explain', label: 'Explain', show: ExplainTab },
  { id: 'hardware', label: 'Hardware & identity', show: HardwareTab },
  { id: 'renderings', label: 'Renderings', show: RenderingsTab },
  { id: 'power', label: 'Power & BMC', show: PowerTab },
  { id: 'tasks', label: 'Tasks', show: TasksTab },
  { id: 'certificates', label: 'Certificates', show: CertificatesTab },
  { id: 'allocations', label: 'Allocations', show: AllocationsTab },
  { id: 'onboarding', label: 'Onboarding runs', show: OnboardingTab },
  { id: 'audit', label: 'Audit', show: AuditTab },
];

export function NodePage({ params }: { params: Readonly<Record<string, string>> }): VNode {
  const name = params.node ?? '';
  const node = useRead('getNode', { params: { node: name } });
  const diagnosis = useRead('diagnoseNode', { params: { node: name } });
  const timeline = useRead('getNodeTimeline', { params: { node: name } });
  useEffect(() => {
    document.title = `${name} · Coldiron`;
  }, [name]);
  // The row says when something changed; the details are read then.
  const version = revision.value >= 0 ? fleet.entries.get(name)?.row.version : undefined;
  const state = fleet.entries.get(name)?.row.state;
  useEffect(() => {
    if (node.data !== null && version !== undefined && version !== node.data.version) node.reload();
  }, [version]);
  useEffect(() => {
    if (node.data !== null && state !== undefined) diagnosis.reload();
  }, [state]);
  useNodeEvents(node.data?.id ?? null, timeline.reload);
  if (node.data === null) {
    return node.failure === null
      ? html`<${Loading} what=${name} />`
      : html`<div class="page"><h1>${name}</h1><${FailureNotice} failure=${node.failure} retry=${node.reload} /><p><a href="/">Go to the fleet</a></p></div>`;
  }
  const chosen = TABS.find(({ id }) => id === place.value.query.get('tab')) ?? TABS[0];
  const row = {
    hostname: node.data.hostname,
    state: node.data.state,
    failed_step: (node.data.failure?.step ?? null) as 'deploy' | null,
    allocated_to: node.data.allocation?.user ?? null,
  };
  return html`<div class="page node-page">
    <${Head} node=${node.data} row=${row} />
    ${node.failure && html`<${FailureNotice} failure=${node.failure} retry=${node.reload} />`}
    <div class="node-cards">
      <${WhyCard} node=${row} nextStep=${node.data.next_step} read=${diagnosis} />
      <${BootCard} timeline=${timeline} />
    </div>
    <${TabLinks} name="tab" label="Details" tabs=${TABS} />
    <section class="card tab-card" aria-label=${chosen?.label}>
      <div class="card-body">${chosen && html`<${chosen.show} node=${node.data} key=${chosen.id + node.data.id} />`}</div>
    </section>
  </div>`;
}

interface HeadProps {
  readonly node: Node;
  readonly row: Parameters<typeof refusalOf>[1];
}

function Head({ node, row }: HeadProps): VNode {
  const who = session.value;
  const role = who.state === 'in' ? who.who.role : 'viewer';
  const items = COMMANDS.map((command): MenuItem => {
    const refused = refusalOf(command.id, row, role);
    return {
      label: command.destroys === null ? command.label : `${command.label}…`,
      note: command.summary,
      danger: command.destroys !== null,
      disabled: refused,
      run: () => askCommand(command.id, node.hostname),
    };
  });
  // What can be done comes first.
  items.sort((a, b) => Number(Boolean(a.disabled)) - Number(Boolean(b.disabled)));
  const { rack, unit } = node.labels;
  return html`<header class="node-head">
    <div>
      <h1>${node.hostname}</h1>
      <p class="node-line">
        <${StateMark} state=${node.state} step=${node.failure?.step ?? null} /><${HealthMark} health=${node.health} />
        <span class="muted">since <${Ago} time=${node.since} /></span>
        ${node.deadline && html`<${Countdown} deadline=${node.deadline} />`}
        <span class="muted">identity: ${node.identity.level}${node.identity.tpm && ` (TPM, ${node.identity.tpm.trust})`}</span>
        ${rack && html`<a href=${pathTo('rack', { rack })}>rack ${rack}${unit && ` · ${unit}`}</a>`}
        ${node.profile && html`<span class="muted">profile ${node.profile}</span>`}
      </p>
      ${node.note && html`<p class="muted">Note: ${node.note}</p>`}
    </div>
    <div class="node-actions">
      ${mayDo('operator') && node.bmc && html`<a class="button" href=${pathTo('console', { node: node.hostname })}>${icon('terminal')}Console</a>`}
      <${Menu} label="Actions" name="Actions" kind="primary" items=${items} />
    </div>
  </header>`;
}
