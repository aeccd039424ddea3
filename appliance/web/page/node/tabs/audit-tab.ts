// Who changed the node: the newest audit entries that name it.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { mayDo } from '../../session.ts';
import { absolute } from '../../time.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { shown } from './shown.ts';

const LOOKED_AT = 1000;

export function AuditTab({ node }: { node: Node }): VNode {
  const allowed = mayDo('operator');
  const read = useRead('listAuditEntries', allowed ? { query: { newest: true, limit: LOOKED_AT } } : null);
  if (!allowed)
    return html`<${Empty} title="The audit log needs the role operator"><p>The trail shows what happened to the node.</p><//>`;
  return shown(read, 'the audit log', ({ entries }) => {
    const own = entries.filter(({ target }) => target.endsWith(`:${node.hostname}`) || target.endsWith(`:${node.id}`));
    if (own.length === 0)
      return html`<${Empty} title="Nobody changed it lately"><p>The newest ${LOOKED_AT} entries do not name it. All entries: <code>coldiron audit list</code></p><//>`;
    return html`<ol class="trail">${own.toReversed().map(
      (entry) => html`<li key=${entry.seq}>
      <time datetime=${entry.at}>${absolute(entry.at)}</time><span class="sentence">${entry.actor}: ${entry.action}</span>
      <span class="kind muted">${entry.correlation_id ?? ''}</span></li>`,
    )}</ol>`;
  });
}
