// What the node is: declaration, identity and where it comes from, cables, and the facts that the service OS found.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { Ago } from '../../parts/time-text.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { Facts } from './facts.ts';
import { shown } from './shown.ts';

const text = (value: string | number | null): string => (value === null || value === '' ? '–' : String(value));

export function HardwareTab({ node }: { node: Node }): VNode {
  const facts = useRead('listNodeFacts', { params: { node: node.id } });
  const cabling = useRead('getNodeCabling', { params: { node: node.id } });
  const { identity } = node;
  return html`<div class="columns">
    <section><h3>Identity</h3>
      <p>${identity.summary}</p>
      ${identity.pending && html`<p class="tone-attention">Waits for a decision: ${identity.pending}</p>`}
      <dl class="facts">
        <dt>Proof</dt><dd>${identity.level}</dd>
        <dt>UUID</dt><dd>${text(identity.uuid ?? node.uuid)}</dd>
        <dt>Serial</dt><dd>${text(identity.serial ?? node.serial)}</dd>
        <dt>TPM</dt><dd>${identity.tpm ? `vouched for: ${identity.tpm.trust}${identity.tpm.issuer ? `, ${identity.tpm.issuer}` : ''}` : 'none seen'}</dd>
        <dt>Bound</dt><dd>${identity.bound_at ? html`<${Ago} time=${identity.bound_at} />` : 'not yet'}</dd>
      </dl>
    </section>
    <section><h3>Declared</h3>
      <dl class="facts">
        <dt>Site</dt><dd>${text(node.site)}</dd><dt>SKU</dt><dd>${text(node.sku)}</dd>
        <dt>Profile</dt><dd>${text(node.profile)}</dd><dt>Cluster</dt><dd>${text(node.cluster)}</dd>
        <dt>Architecture</dt><dd>${node.architecture}</dd><dt>GPUs</dt><dd>${text(node.gpus)}</dd>
        <dt>Source</dt><dd>${node.source}</dd>
        <dt>Labels</dt><dd>${
          Object.entries(node.labels)
            .map(([name, value]) => `${name}=${value}`)
            .join(', ') || '–'
        }</dd>
      </dl>
    </section>
    <section class="wide"><h3>Interfaces and cables</h3>
      ${shown(
        cabling,
        'the cables',
        ({ cables }) => html`<div class="scroll-x" tabindex="0" role="region" aria-label="Interfaces"><table>
        <thead><tr><th scope="col">Interface</th><th scope="col">MAC</th><th scope="col">Network</th><th scope="col">Address</th><th scope="col">Cable</th></tr></thead>
        <tbody>${node.interfaces.map((each) => {
          const cable = cables.find((one) => one.interface === each.name);
          return html`<tr key=${each.name}><td>${each.name}</td><td class="mono">${text(each.mac)}</td><td>${each.network}</td><td>${text(each.address)}</td>
            <td class=${cable?.verdict === 'another-port' ? 'tone-attention' : cable?.verdict === 'as-declared' ? 'tone-good' : ''}>${cable?.summary ?? '–'}</td></tr>`;
        })}</tbody></table></div>`,
      )}
    </section>
    <section class="wide"><h3>Facts</h3>
      ${shown(facts, 'the facts', ({ facts: all }) => {
        const newest = all.at(-1);
        if (!newest)
          return html`<${Empty} title="No facts yet"><p>Commission it: the service OS reports processors, memory, disks and cards.</p><//>`;
        return html`<p class="muted">Reported <${Ago} time=${newest.at} /></p><${Facts} value=${newest.facts} />`;
      })}
    </section>
  </div>`;
}
