// What happened to the node, the newest first, as it happens.

import type { VNode } from 'preact';
import { classes, html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { absolute, clockTime } from '../../time.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { useNodeEvents } from '../use-node-events.ts';
import { shown } from './shown.ts';

const TONES: Readonly<Record<string, string>> = { error: 'tone-bad', warning: 'tone-attention' };

export function TrailTab({ node }: { node: Node }): VNode {
  const read = useRead('listEvents', { query: { node: node.id, newest: true, limit: 200 } });
  useNodeEvents(node.id, read.reload);
  return shown(read, 'the trail', ({ events }) => {
    if (events.length === 0)
      return html`<${Empty} title="Nothing happened yet"><p>Power it on: every packet that it sends appears here.</p><//>`;
    return html`<ol class="trail">
      ${events.toReversed().map(({ seq, at, kind, actor, severity, sentence }, index, all) => {
        const day = absolute(at).slice(0, 10);
        const isNewDay = index === 0 || absolute(all[index - 1]?.at ?? at).slice(0, 10) !== day;
        return html`${isNewDay && html`<li class="day" key=${day}>${day}</li>`}
          <li key=${seq}>
            <time datetime=${at} title=${absolute(at)}>${clockTime(at)}</time>
            <span class=${classes('sentence', TONES[severity])}>${sentence}</span>
            <span class="kind muted">${kind}${actor === 'appliance' ? '' : ` · ${actor}`}</span>
          </li>`;
      })}
    </ol>`;
  });
}
