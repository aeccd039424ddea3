// Signed tasks of the node, and what they answered.

import type { VNode } from 'preact';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { Ago } from '../../parts/time-text.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { useNodeEvents } from '../use-node-events.ts';
import { shown } from './shown.ts';

const TONES: Readonly<Record<string, string>> = { done: 'tone-good', failed: 'tone-bad', expired: 'tone-attention' };

export function TasksTab({ node }: { node: Node }): VNode {
  const read = useRead('listTasks', { params: { node: node.id }, query: { limit: 50 } });
  useNodeEvents(node.id, read.reload);
  return shown(read, 'the tasks', ({ tasks }) =>
    tasks.length === 0
      ? html`<${Empty} title="No tasks"><p>Run one: <code>coldiron task run ${node.hostname} ping --wait</code></p><//>`
      : html`<div class="scroll-x" tabindex="0" role="region" aria-label="Tasks"><table>
          <thead><tr><th scope="col">Task</th><th scope="col">State</th><th scope="col">By</th><th scope="col">Created</th><th scope="col">Output</th></tr></thead>
          <tbody>${tasks.map((task) => html`<tr key=${task.id}><td>${task.kind}</td><td class=${TONES[task.state] ?? ''}>${task.state}</td><td>${task.actor}</td><td><${Ago} time=${task.created_at} /></td><td>${task.output === null ? '–' : html`<pre>${task.output}</pre>`}</td></tr>`)}</tbody>
        </table></div>`,
  );
}
