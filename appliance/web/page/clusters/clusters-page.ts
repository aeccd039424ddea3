// Clusters: their members, with the state and health of each, live.

import type { VNode } from 'preact';
import type { Answer } from '../../../contract/wire.ts';
import { html } from '../html.ts';
import { fleet, revision } from '../live/live.ts';
import type { Row } from '../live/row.ts';
import { Empty } from '../parts/notices.ts';
import { Card, PageFrame, Shown, Table } from '../parts/page-frame.ts';
import { HealthMark, StateMark } from '../parts/state-mark.ts';
import { pathTo } from '../router.ts';
import { useRead } from '../use-read.ts';

type Cluster = Answer<'listClusters'>['clusters'][number];

export function ClustersPage(): VNode {
  const read = useRead('listClusters', {});
  // Read, so that the page is rendered again when rows change.
  revision.value;
  const rows = [...fleet.entries.values()].map(({ row }) => row);
  return html`<${PageFrame} title="Clusters" about="The nodes of each cluster, and how many of its first members are up.">
    <${Shown}
      read=${read}
      what="clusters"
      show=${({ clusters }: Answer<'listClusters'>) =>
        clusters.length === 0
          ? html`<${Empty} title="No cluster is declared"><p>Clusters are part of the inventory: name, network and first members.</p><//>`
          : clusters.map(
              (cluster) =>
                html`<${ClusterCard} key=${cluster.name} cluster=${cluster} members=${rows.filter((row) => row.cluster === cluster.name)} />`,
            )}
    />
  <//>`;
}

function ClusterCard({ cluster, members }: { cluster: Cluster; members: readonly Row[] }): VNode {
  const first = new Set(cluster.bootstrap);
  const up = members.filter(
    ({ hostname, state, health }) => first.has(hostname) && state === 'active' && health === 'online',
  );
  const majority = Math.floor(first.size / 2) + 1;
  const enough = first.size === 0 || up.length >= majority;
  const sorted = members.toSorted((one, other) => one.hostname.localeCompare(other.hostname, 'en', { numeric: true }));
  const note = `site ${cluster.site} · network ${cluster.network}${cluster.vip === null ? '' : ` · ${cluster.vip}`}`;
  return html`<${Card} title=${cluster.name} note=${note} plain>
    <p class=${`card-body ${enough ? 'tone-good' : 'tone-attention'}`}>
      ${
        first.size === 0
          ? 'It names no first members.'
          : `${up.length} of ${first.size} first members are active and online; a majority is ${majority}.`
      }
    </p>
    ${
      sorted.length === 0
        ? html`<${Empty} title="No node belongs to it"><p>Name the cluster in the entry of a node.</p><//>`
        : html`<${Table} label=${`Nodes of ${cluster.name}`} head=${['Node', 'State', 'Health', 'Part', 'Rack', 'Profile', 'Address']}>
            ${sorted.map(
              (row) =>
                html`<tr key=${row.id}>
                  <td><a href=${pathTo('node', { node: row.hostname })}>${row.hostname}</a></td>
                  <td><${StateMark} state=${row.state} step=${row.failed_step} /></td>
                  <td><${HealthMark} health=${row.health} /></td>
                  <td>${first.has(row.hostname) ? 'first member' : 'member'}</td>
                  <td>${row.rack ?? ''}</td>
                  <td>${row.profile ?? ''}</td>
                  <td>${row.address ?? ''}</td>
                </tr>`,
            )}
          <//>`
    }
  <//>`;
}
