// Who uses the node, and who did.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { Ago } from '../../parts/time-text.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { shown } from './shown.ts';

export function AllocationsTab({ node }: { node: Node }): VNode {
  const read = useRead('listAllocations', { query: { node: node.id, limit: 50 } });
  return shown(read, 'the allocations', ({ allocations }) =>
    allocations.length === 0
      ? html`<${Empty} title="Nobody uses it"><p>An active node can be given to a person: <code>coldiron allocations request</code></p><//>`
      : html`<div class="scroll-x" tabindex="0" role="region" aria-label="Allocations"><table>
          <thead><tr><th scope="col">User</th><th scope="col">State</th><th scope="col">Since</th><th scope="col">Requested by</th></tr></thead>
          <tbody>${allocations.map((each) => html`<tr key=${each.id}><td>${each.user}</td><td>${each.state}: ${each.reason ?? each.means}</td><td><${Ago} time=${each.since} /></td><td>${each.requested_by}</td></tr>`)}</tbody>
        </table></div>`,
  );
}
