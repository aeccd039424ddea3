// What a machine said on its serial console: the captured lines of this boot or the one before, read again while the page is open.
// Typing needs the whole console, which `coldiron console` has.

import type { VNode } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Answer } from '../../../contract/wire.ts';
import { type Child, html } from '../html.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { Empty } from '../parts/notices.ts';
import { Card, PageFrame, Shown } from '../parts/page-frame.ts';
import { TabLinks } from '../parts/tabs.ts';
import { pathTo, place } from '../router.ts';
import { clockTime } from '../time.ts';
import { useRead } from '../use-read.ts';

const READ_EVERY_MS = 3000;
const MOST_LINES = 1000;

const BOOTS = [
  { id: 'current', label: 'This boot' },
  { id: 'previous', label: 'The boot before' },
] as const;

export function ConsolePage({ params }: { params: Readonly<Record<string, string>> }): VNode {
  const node = params.node ?? '';
  const boot = place.value.query.get('boot') === 'previous' ? 'previous' : 'current';
  const read = useRead('getNodeConsoleLog', { params: { node }, query: { boot, lines: MOST_LINES } });
  useEffect(() => {
    if (boot === 'previous') return;
    const timer = setInterval(() => {
      if (!document.hidden) read.reload();
    }, READ_EVERY_MS);
    return () => clearInterval(timer);
  }, [node, boot]);
  const command = `coldiron console ${node}`;
  return html`<${PageFrame}
    title=${`Console of ${node}`}
    about=${html`<a href=${pathTo('node', { node })}>Back to ${node}</a>`}
  >
    <${TabLinks} name="boot" label="Which boot" tabs=${BOOTS} />
    <${Card} title="Serial console" note=${read.data?.captured ? 'captured now; new lines appear by themselves' : 'not captured now'} plain>
      <${Shown} read=${read} what="the console" show=${lines} />
    <//>
    <p class="command"><span>To type into it:</span><code>${command}</code><${CopyButton} text=${command} label="Copy the command" /></p>
  <//>`;
}

function lines({ lines: said, unfinished, captured }: Answer<'getNodeConsoleLog'>): Child {
  if (said.length === 0 && unfinished === null) {
    return html`<${Empty} title="Nothing was captured">
      <p>${captured ? 'The machine has not printed anything yet.' : 'The console is captured while a node is worked on, over IPMI.'}</p>
    <//>`;
  }
  return html`<pre class="console-lines" tabindex="0" aria-label="Lines of the console">${said.map(
    ({ at, text }) => html`<span class="console-time">${clockTime(at)} </span>${text}${'\n'}`,
  )}${unfinished ?? ''}</pre>`;
}
