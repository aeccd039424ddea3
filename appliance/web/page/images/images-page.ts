// What machines can be sent and installed with: boot files that are missing, profiles and SKUs, with how many nodes use each.

import type { VNode } from 'preact';
import type { Answer } from '../../../contract/wire.ts';
import { type Child, html } from '../html.ts';
import { fleet, revision } from '../live/live.ts';
import { CopyButton } from '../parts/copy-button.ts';
import { icon } from '../parts/icon.ts';
import { Empty } from '../parts/notices.ts';
import { Card, PageFrame, Shown, Table } from '../parts/page-frame.ts';
import { pathTo } from '../router.ts';
import { useRead } from '../use-read.ts';

export function ImagesPage(): VNode {
  const contract = useRead('checkBootContract', {});
  const profiles = useRead('listProfiles', {});
  const skus = useRead('listSkus', {});
  const uses = useUses();
  return html`<${PageFrame} title="Images" about="Boot files, profiles and SKUs, and the nodes that use them.">
    <${Card} title="Boot files" note="fetched from the running servers, as machines would">
      <${Shown} read=${contract} what="boot files" show=${bootFiles} />
    <//>
    <${Card} title="Profiles" note="what is installed" plain>
      <${Shown}
        read=${profiles}
        what="profiles"
        show=${({ profiles: list }: Answer<'listProfiles'>) =>
          list.length === 0
            ? html`<${Empty} title="No profile is declared" />`
            : html`<${Table} label="Profiles" head=${['Profile', 'Kind', 'Nodes', 'Identity', 'Architectures', 'Description']}>
                ${list.map(
                  ({ name, kind, active, identity, architectures, description }) =>
                    html`<tr key=${name}>
                      <td>${name}${active ? '' : html` <span class="muted">(not active)</span>`}</td>
                      <td>${kind}</td>
                      <td><a href=${pathTo('fleet', {}, { q: name })}>${uses.profiles.get(name) ?? 0}</a></td>
                      <td>${identity}</td>
                      <td>${architectures.join(', ')}</td>
                      <td>${description}</td>
                    </tr>`,
                )}
              <//>`}
      />
    <//>
    <${Card} title="SKUs" note="what can be racked" plain>
      <${Shown}
        read=${skus}
        what="SKUs"
        show=${({ skus: list }: Answer<'listSkus'>) =>
          list.length === 0
            ? html`<${Empty} title="No SKU is declared" />`
            : html`<${Table} label="SKUs" head=${['SKU', 'Architecture', 'Nodes', 'Owner', 'Description']}>
                ${list.map(
                  ({ name, architecture, active, owner, description }) =>
                    html`<tr key=${name}>
                      <td>${name}${active ? '' : html` <span class="muted">(takes no nodes)</span>`}</td>
                      <td>${architecture}</td>
                      <td><a href=${pathTo('fleet', {}, { q: name })}>${uses.skus.get(name) ?? 0}</a></td>
                      <td>${owner ?? ''}</td>
                      <td>${description}</td>
                    </tr>`,
                )}
              <//>`}
      />
    <//>
  <//>`;
}

function useUses(): { readonly profiles: ReadonlyMap<string, number>; readonly skus: ReadonlyMap<string, number> } {
  // Read, so that the page is rendered again when rows change.
  revision.value;
  const [profiles, skus] = [new Map<string, number>(), new Map<string, number>()];
  for (const { row } of fleet.entries.values()) {
    if (row.profile !== null) profiles.set(row.profile, (profiles.get(row.profile) ?? 0) + 1);
    if (row.sku !== null) skus.set(row.sku, (skus.get(row.sku) ?? 0) + 1);
  }
  return { profiles, skus };
}

const BUILD = 'coldiron assets build';

function bootFiles({ problems, missing }: Answer<'checkBootContract'>): Child {
  if (problems.length + missing.length === 0) {
    return html`<p class="line tone-good">${icon('check')}<span>Everything that machines can be sent is served.</span></p>`;
  }
  return html`<ul class="missing">
      ${problems.map((text) => html`<li class="line tone-bad" key=${text}>${icon('cross')}<span>${text}</span></li>`)}
      ${missing.map(
        ({ file, what, architectures }) =>
          html`<li class="line tone-attention" key=${file}>
            ${icon('warning')}<span><code>${file}</code> is missing: ${what}, ${architectures.join(', ')}</span>
          </li>`,
      )}
    </ul>
    <p class="command"><code>${BUILD}</code><${CopyButton} text=${BUILD} label="Copy the command" /></p>`;
}
