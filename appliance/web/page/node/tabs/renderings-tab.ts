// The files that the node is installed from, and what changed since it got them.

import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { html } from '../../html.ts';
import { Empty } from '../../parts/notices.ts';
import { Ago } from '../../parts/time-text.ts';
import { useRead } from '../../use-read.ts';
import type { Node } from '../node-page.ts';
import { shown } from './shown.ts';

export function RenderingsTab({ node }: { node: Node }): VNode {
  const difference = useRead('compareRendering', { params: { node: node.id } });
  const rendering = useRead('previewRendering', { params: { node: node.id } });
  return html`<section><h3>Changed since it was delivered</h3>
      ${shown(difference, 'the differences', ({ since, files }) => {
        if (since === null) return html`<p class="muted">It has received no files yet.</p>`;
        const when = html`<p class="muted">Delivered <${Ago} time=${since.at} />, inventory revision ${since.inventory_revision}</p>`;
        if (files.length === 0) return html`${when}<p class="tone-good">It has exactly what would be rendered now.</p>`;
        return html`${when}${files.map(
          (file) => html`<details key=${file.path} open=${files.length < 4}>
          <summary>${file.path} <span class="muted">${file.change}, +${file.added} −${file.removed}</span></summary>
          ${file.diff ? html`<${Diff} text=${file.diff} />` : html`<p class="muted">Its content is secret.</p>`}
        </details>`,
        )}`;
      })}
    </section>
    <section><h3>Files</h3>
      ${shown(rendering, 'the files', ({ files, missing }) => {
        if (files.length === 0)
          return html`<${Empty} title="Nothing is rendered for it"><p>Give it a profile in the inventory.</p><//>`;
        return html`${missing.length > 0 && html`<ul class="tone-attention">${missing.map((each) => html`<li>Left out: ${each}</li>`)}</ul>`}
          ${files.map((file) => html`<${RenderedFile} path=${file.path} mode=${file.mode} text=${file.text} key=${file.path} />`)}`;
      })}
    </section>`;
}

function RenderedFile({ path, mode, text }: { path: string; mode: string; text: string | null }): VNode {
  const [open, setOpen] = useState(false);
  return html`<details onToggle=${(event: Event) => setOpen((event.target as HTMLDetailsElement).open)}>
    <summary>${path} <span class="muted">${mode}${text === null ? ', secret' : ''}</span></summary>
    ${open && (text === null ? html`<p class="muted">A preview leaves out secrets.</p>` : html`<pre class="file" tabindex="0">${text}</pre>`)}
  </details>`;
}

/** Lines by their first character, as in a unified diff. */
function Diff({ text }: { text: string }): VNode {
  const kind = (line: string): string =>
    line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : line.startsWith('@') ? 'place' : '';
  return html`<pre class="diff" tabindex="0">${text.split('\n').map((line) => html`<span class=${kind(line)}>${`${line}\n`}</span>`)}</pre>`;
}
