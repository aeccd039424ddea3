// A cluster from the view of its members: who forms it, who joins, and through which member.

import type { Cluster } from '../domain/catalogue.ts';
import type { Machine, MachineSpec } from '../domain/machine.ts';
import type { DomainName, Hostname, ObjectName } from '../domain/names.ts';
import type { Site, SiteNetwork } from '../domain/network.ts';
import type { ClusterMember, ClusterPlan } from './node-plan.ts';
import type { PlanIndex } from './plan-index.ts';
import { addressOnNetwork, planLinks } from './plan-links.ts';

export interface ClusterView {
  readonly cluster: Cluster;
  readonly network: SiteNetwork;
  /** Those that can be members, by host name. */
  readonly members: readonly ClusterMember[];
  readonly byHostname: ReadonlyMap<string, ClusterMember>;
  readonly bootstrap: readonly ClusterMember[];
  /** Why the cluster cannot be formed, or only by some of its bootstrap members. */
  readonly problems: readonly ClusterProblem[];
}

interface ClusterProblem {
  /** The bootstrap member that cannot be one; null: the whole cluster. */
  readonly member: string | null;
  readonly text: string;
}

/** One view, shared by all members of a cluster. */
export function clusterView(index: PlanIndex, cluster: Cluster): ClusterView | null {
  const network = index.networks.get(cluster.network);
  return network ? index.once(cluster, () => viewOf(index, cluster, network)) : null;
}

function viewOf(index: PlanIndex, cluster: Cluster, network: SiteNetwork): ClusterView {
  const found = index
    .membersOf(cluster.name)
    .map((machine) => ({ machine, member: memberOf(index, cluster, machine) }));
  const members = found.flatMap(({ member }) => (typeof member === 'string' ? [] : [member]));
  const byHostname = new Map<string, ClusterMember>(members.map((member) => [member.hostname, member]));
  const bootstrap: ClusterMember[] = [];
  const problems: ClusterProblem[] = [];
  for (const hostname of cluster.bootstrap) {
    const member = byHostname.get(hostname);
    const result = found.find(({ machine }) => machine.spec.hostname === hostname)?.member;
    if (member) bootstrap.push(member);
    // A retired member has left the cluster; the remaining members keep it running.
    else if (typeof result === 'string') {
      const text = `${hostname}, a bootstrap member of cluster ${cluster.name}, ${result}`;
      problems.push({ member: hostname, text });
    }
  }
  if (bootstrap.length === 0 && problems.length === 0) {
    const text = `cluster ${cluster.name} has no bootstrap members: name them (bootstrap:)`;
    problems.push({ member: null, text });
  }
  return { cluster, network, members, byHostname, bootstrap, problems };
}

/** The machine as a member, or why it cannot be one. */
function memberOf(index: PlanIndex, cluster: Cluster, { spec }: Machine): ClusterMember | string {
  const network = index.networks.get(cluster.network);
  const address = network ? addressOnNetwork(planLinks(index, spec), network) : null;
  const role = (spec.profile && index.profiles.get(spec.profile)?.role) ?? null;
  if (address === null) return `has no address on ${cluster.network}, the network of the cluster`;
  if (role === null) return `has no role: set one in its profile (role:)`;
  const { hostname } = spec;
  return { hostname, fqdn: fqdnOf(hostname, domainOf(index, spec)), address, role };
}

/** The cluster plan of one member; problems are added to `reasons`. */
export function planCluster(index: PlanIndex, spec: MachineSpec, reasons: string[]): ClusterPlan | null {
  if (spec.cluster === null) return null;
  const cluster = index.clusters.get(spec.cluster);
  const view = cluster && clusterView(index, cluster);
  if (!cluster) reasons.push(`its cluster ${spec.cluster} is not declared`);
  else if (!view) reasons.push(`network ${cluster.network} of its cluster ${cluster.name} is not declared`);
  if (!view) return null;
  const { bootstrap, members, network, byHostname } = view;
  const self = byHostname.get(spec.hostname);
  if (!self) reasons.push(...ownReasons(index, view, spec));
  // Its own problem is already among the reasons.
  reasons.push(...view.problems.flatMap(({ member, text }) => (member === spec.hostname ? [] : [text])));
  const [leader] = bootstrap;
  if (!self || !leader) return null;
  return {
    name: view.cluster.name,
    network: network.name,
    prefix: network.prefix,
    vip: view.cluster.vip,
    mode: bootstrap.includes(self) ? 'bootstrap' : 'join',
    self,
    leader,
    bootstrap,
    members,
  };
}

function ownReasons(index: PlanIndex, { cluster, network }: ClusterView, spec: MachineSpec): string[] {
  const profile = spec.profile === null ? undefined : index.profiles.get(spec.profile);
  const where = `the network of cluster ${cluster.name}`;
  return [
    ...(addressOnNetwork(planLinks(index, spec), network) === null
      ? [`it has no address on ${network.name}, ${where}`]
      : []),
    // A missing profile is already among the reasons.
    ...(profile && profile.role === null
      ? [`its profile ${profile.name} has no role, and a member of ${cluster.name} needs one (role:)`]
      : []),
  ];
}

interface Named<T> {
  get(name: ObjectName): T | undefined;
}

/** The part of an inventory that determines domains. */
export interface DomainIndex {
  readonly sites: Named<Pick<Site, 'domain'>>;
  readonly clusters: Named<Pick<Cluster, 'domain' | 'network'>>;
  readonly networks: Named<Pick<SiteNetwork, 'domain'>>;
}

/** The cluster's domain, else the site's, else that of the network of the node's primary address. */
export function domainOf(
  index: DomainIndex,
  spec: MachineSpec,
  known: Pick<SiteNetwork, 'domain'> | null = null,
): DomainName | null {
  const cluster = spec.cluster === null ? undefined : index.clusters.get(spec.cluster);
  const site = spec.site === null ? undefined : index.sites.get(spec.site);
  const network = cluster ? index.networks.get(cluster.network) : known;
  return cluster?.domain ?? site?.domain ?? network?.domain ?? null;
}

export const fqdnOf = (hostname: Hostname, domain: DomainName | null): string =>
  domain === null ? hostname : `${hostname}.${domain}`;
