// Certificates and one-time tokens of the node.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { Ago } from '../../parts/time-text.ts';
import { now } from '../../time.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { shown } from './shown.ts';

export function CertificatesTab({ node }: { node: Node }): VNode {
  const read = useRead('getNodeEnrollment', { params: { node: node.id } });
  return shown(read, 'the certificates', ({ certificates, tokens, last_heard }) => {
    if (certificates.length + tokens.length === 0) {
      return html`<${Empty} title="It has not enrolled"><p>A deployed node enrolls by itself. For a system that is installed already: <code>coldiron token issue ${node.hostname}</code></p><//>`;
    }
    const state = (each: (typeof certificates)[number]): VNode =>
      each.revoked_at !== null
        ? html`<span class="tone-bad">revoked: ${each.revoked_because ?? 'no reason recorded'}</span>`
        : Date.parse(each.not_after) < now.peek()
          ? html`<span class="tone-attention">expired</span>`
          : html`<span class="tone-good">valid</span>`;
    return html`<p class="muted">Last heard ${last_heard === null ? 'never' : html`<${Ago} time=${last_heard} />`}</p>
      <div class="scroll-x" tabindex="0" role="region" aria-label="Certificates"><table>
        <thead><tr><th scope="col">Certificate</th><th scope="col">Kind</th><th scope="col">State</th><th scope="col">Valid from</th><th scope="col">Until</th></tr></thead>
        <tbody>${certificates.map((each) => html`<tr key=${each.serial}><td class="mono">${each.serial}</td><td>${each.kind}</td><td>${state(each)}</td><td><${Ago} time=${each.not_before} /></td><td><${Ago} time=${each.not_after} /></td></tr>`)}</tbody>
      </table></div>
      ${tokens.length > 0 && html`<h3>One-time tokens</h3><ul>${tokens.map((each) => html`<li key=${each.id}>${each.kind}, ${each.delivery}: created <${Ago} time=${each.created_at} />, ${each.consumed_at ? html`used <${Ago} time=${each.consumed_at} />` : each.revoked_at ? 'revoked' : html`expires <${Ago} time=${each.expires_at} />`}</li>`)}</ul>`}`;
  });
}
