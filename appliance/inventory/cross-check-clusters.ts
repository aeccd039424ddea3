// Checks clusters: every named member exists and has an address on the cluster's network.

import { hostAddressProblem } from './cross-check-networks.ts';
import { type ClusterDraft, type Drafts, type Entry, type Findings, type NodeDraft, placeText } from './drafts.ts';
import type { References } from './references.ts';

export function checkClusters(drafts: Drafts, references: References, findings: Findings): void {
  const nodes = new Map(drafts.nodes.map((entry) => [entry.draft.hostname as string | undefined, entry]));
  const members = Map.groupBy(drafts.nodes, ({ draft }) => draft.cluster);
  for (const cluster of drafts.clusters) {
    const { at, draft } = cluster;
    references.follow('sites', draft.site, at, 'site');
    checkNetwork(cluster, references, findings);
    draft.bootstrap?.forEach((hostname, index, all) => {
      const field = `bootstrap[${index}]`;
      const node = nodes.get(hostname);
      if (hostname === undefined) return;
      if (all.indexOf(hostname) < index) findings.report(at, field, `lists ${hostname} twice`);
      else if (node) checkBootstrapNode(node, cluster, field, references, findings);
      else if (!drafts.incomplete.has('nodes')) findings.report(at, field, `unknown node: ${hostname}`);
    });
    if (draft.name === undefined || !references.knows('networks', draft.network)) continue;
    for (const member of members.get(draft.name) ?? []) checkMember(member, cluster, references, findings);
  }
}

function checkNetwork({ at, draft }: Entry<ClusterDraft>, references: References, findings: Findings): void {
  const network = references.follow('networks', draft.network, at, 'network');
  if (!network) return;
  const { site, prefix } = network.draft;
  if (references.differentSites(site, draft.site)) {
    findings.report(
      at,
      'network',
      `network ${draft.network} is at site ${site}, the cluster at ${draft.site}`,
      network.at,
    );
  }
  const vipProblem = prefix && draft.vip && hostAddressProblem(prefix, draft.vip);
  if (vipProblem) findings.report(at, 'vip', `${vipProblem} (${draft.network})`, network.at);
}

function checkBootstrapNode(
  node: Entry<NodeDraft>,
  { at, draft }: Entry<ClusterDraft>,
  field: string,
  references: References,
  findings: Findings,
): void {
  const { cluster, hostname } = node.draft;
  if (draft.name === undefined || cluster === draft.name) return;
  if (cluster !== null && !references.knows('clusters', cluster)) return;
  const message = `${hostname} is not in this cluster; see ${placeText(node.at, 'cluster')}`;
  findings.report(at, field, message, node.at);
}

function checkMember(
  member: Entry<NodeDraft>,
  cluster: Entry<ClusterDraft>,
  references: References,
  findings: Findings,
): void {
  const { network, name } = cluster.draft;
  const { interfaces, bonds, vlans } = member.draft;
  if (network === undefined || !interfaces || !bonds || !vlans) return;
  // A link or network with a problem of its own, which is reported elsewhere, may be the right one.
  const reachable = [...interfaces, ...bonds, ...vlans].some((link) => {
    if (link?.network === undefined) return true;
    if (link.network === network) return link.address !== null;
    return link.network !== null && !references.knows('networks', link.network);
  });
  if (reachable) return;
  const message = `has no address on ${network}, the network of cluster ${name}`;
  findings.report(member.at, 'interfaces', message, cluster.at);
}
