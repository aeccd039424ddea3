// Targets for Prometheus (file_sd): the address of every node, and the API of every service of a cluster. Nodes have no port:
// we install no exporter of node metrics. A relabel rule can add the port of an exporter; a probe needs none.

import { CLUSTER_SERVICES } from '../../domain/cluster-services.ts';
import type { Machine } from '../../domain/machine.ts';
import type { Site } from '../../domain/network.ts';
import { clusterView } from '../plan-cluster.ts';
import type { PlanIndex } from '../plan-index.ts';
import type { RenderedFile } from '../rendered-file.ts';
import { knownAddresses } from './site-names.ts';

interface TargetGroup {
  readonly targets: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
}

export function renderPrometheusTargets(index: PlanIndex, site: Site): RenderedFile[] {
  const here = index.machines
    .filter(({ spec }) => spec.site === site.name)
    .map((machine) => ({ machine, labels: labelsOf(index, site, machine) }));
  const nodes = here.flatMap(({ machine, labels }): TargetGroup[] => {
    const [known] = knownAddresses(index, machine);
    return known ? [{ targets: [known.address], labels }] : [];
  });
  return [file('prometheus/nodes.json', nodes), file('prometheus/services.json', services(index, here))];
}

interface Labelled {
  readonly machine: Machine;
  readonly labels: Readonly<Record<string, string>>;
}

function services(index: PlanIndex, machines: readonly Labelled[]): TargetGroup[] {
  return machines.flatMap(({ machine, labels }) => {
    const { cluster: name, hostname } = machine.spec;
    const cluster = name === null ? undefined : index.clusters.get(name);
    const member = cluster && clusterView(index, cluster)?.byHostname.get(hostname);
    if (!member) return [];
    return CLUSTER_SERVICES.filter(({ roles }) => roles.includes(member.role)).flatMap(({ name: service, ports }) => {
      // A service that also listens on UDP is DNS and has no metrics page.
      const api = ports.some(({ udp }) => udp) ? undefined : ports.find(({ purpose }) => purpose === 'api');
      return api ? [{ targets: [`${member.address}:${api.port}`], labels: { ...labels, service } }] : [];
    });
  });
}

function labelsOf(index: PlanIndex, site: Site, { spec }: Machine): Record<string, string> {
  const { hostname, cluster, profile } = spec;
  const role = profile === null ? null : (index.profiles.get(profile)?.role ?? null);
  const values = { node: hostname, site: site.name, region: spec.region ?? site.region, cluster, role, profile };
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(values)) if (value !== null) labels[key] = value;
  for (const key of Object.keys(spec.labels).sort()) {
    // Letters, digits and underscores only; of two keys that become equal, the first wins.
    labels[`label_${key.replaceAll(/[^A-Za-z0-9_]/g, '_')}`] ??= spec.labels[key] ?? '';
  }
  return labels;
}

const file = (path: string, groups: readonly TargetGroup[]): RenderedFile => ({
  path,
  text: `${JSON.stringify(groups, null, 2)}\n`,
  mode: 0o644,
  secret: false,
});
