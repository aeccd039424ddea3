// Names and their addresses, for the zones and the hosts file.

import { CLUSTER_SERVICES } from '../../domain/cluster-services.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import type { DomainName, ObjectName } from '../../domain/names.ts';
import type { SiteNetwork } from '../../domain/network.ts';
import type { ClusterMember } from '../node-plan.ts';
import { type ClusterView, clusterView, domainOf, fqdnOf } from '../plan-cluster.ts';
import type { PlanIndex } from '../plan-index.ts';
import { planLinks, workingLinks } from '../plan-links.ts';

export interface SiteName {
  readonly site: ObjectName | null;
  readonly address: Ipv4;
  /** Null: it has no domain, only a host name. */
  readonly fqdn: string | null;
  readonly domain: DomainName | null;
  /** The short name, for the primary address of a node. */
  readonly hostname: string | null;
  /** Whether there is a PTR record from the address to this name. */
  readonly reverse: boolean;
}

/** Of all sites, because a domain may span several. Nodes by host name, then clusters. */
export const siteNames = (index: PlanIndex): readonly SiteName[] => index.once(index, namesOf);

function namesOf(index: PlanIndex): readonly SiteName[] {
  const nodes = index.machines.flatMap((machine) => nodeNames(index, machine));
  const taken = new Set(nodes.flatMap(({ fqdn }) => fqdn ?? []));
  const views = [...index.clusters.values()].flatMap((cluster) => clusterView(index, cluster) ?? []);
  const domains = new Map(views.map((view) => [view, domainOfCluster(index, view)]));
  return [
    ...nodes,
    ...views.flatMap((view) => {
      const domain = domains.get(view) ?? null;
      if (domain === null) return [];
      const alone = [...domains.values()].filter((other) => other === domain).length === 1;
      return clusterNames(view, domain, alone).filter(({ fqdn }) => fqdn === null || !taken.has(fqdn));
    }),
  ];
}

/** The names of a node: of its primary address and of its other addresses. */
function nodeNames(index: PlanIndex, machine: Machine): SiteName[] {
  const { spec } = machine;
  const { site, hostname, bmc } = spec;
  const fixed = knownAddresses(index, machine);
  const [main] = fixed;
  const domain = domainOf(index, spec, main?.network ?? null);
  const named = (address: Ipv4, of: DomainName | null, short: string | null): SiteName => ({
    site,
    address,
    fqdn: of === null ? null : fqdnOf(hostname, of),
    domain: of,
    hostname: short,
    reverse: true,
  });
  if (!main) return [];
  const names = [named(main.address, domain, hostname)];
  if (domain === null) return names;
  for (const { address, network } of fixed.slice(1)) {
    const own = network.domain !== null && network.domain !== domain;
    names.push(named(address, own ? network.domain : below(network.name, domain), null));
  }
  if (bmc !== null) names.push(named(bmc.address, below('bmc', domain), null));
  return names;
}

interface KnownAddress {
  readonly address: Ipv4;
  readonly network: SiteNetwork;
}

/** Static addresses, the primary one first: that on its cluster's network, else that on its production network. */
export const knownAddresses = (index: PlanIndex, machine: Machine): readonly KnownAddress[] =>
  index.once(machine, () => addressesKnown(index, machine));

function addressesKnown(index: PlanIndex, { spec }: Machine): KnownAddress[] {
  const cluster = spec.cluster === null ? undefined : index.clusters.get(spec.cluster);
  const fixed = workingLinks(planLinks(index, spec)).flatMap((link) => {
    const network = link.network === null ? undefined : index.networks.get(link.network);
    return network && link.address !== null && link.address !== 'dhcp' ? [{ address: link.address.ip, network }] : [];
  });
  const onCluster = fixed.find(({ network }) => network.name === cluster?.network);
  return onCluster ? [onCluster, ...fixed.filter((one) => one !== onCluster)] : fixed;
}

/**
 * The cluster itself, and each of its services. The control plane holds the virtual address; a service that runs elsewhere,
 * and every service of a cluster without one, resolves to all members that run it.
 */
function clusterNames({ cluster, members, bootstrap }: ClusterView, domain: DomainName, alone: boolean): SiteName[] {
  const { site, vip } = cluster;
  const ofCluster = below(cluster.name, domain);
  const at = (fqdn: string, addresses: readonly Ipv4[], reverse: boolean): SiteName[] =>
    addresses.map((address) => ({ site, address, fqdn, domain, hostname: null, reverse }));
  const addressesOf = (list: readonly ClusterMember[]): readonly Ipv4[] => list.map(({ address }) => address);
  return [
    ...at(ofCluster, vip === null ? addressesOf(bootstrap) : [vip], vip !== null),
    ...CLUSTER_SERVICES.flatMap(({ name, roles }) => {
      const runners = addressesOf(members.filter(({ role }) => roles.includes(role)));
      const addresses = vip !== null && roles.includes('control-plane') && runners.length > 0 ? [vip] : runners;
      const long = at(`${name}.${ofCluster}`, addresses, false);
      return alone ? [...at(`${name}.${domain}`, addresses, false), ...long] : long;
    }),
  ];
}

function domainOfCluster(index: PlanIndex, { cluster, network }: ClusterView): DomainName | null {
  return cluster.domain ?? index.sites.get(cluster.site)?.domain ?? network.domain;
}

/** Names of networks and clusters may contain dots and underscores, host names may not. */
const below = (name: string, domain: DomainName): DomainName =>
  `${name.replaceAll(/[._]/g, '-').replace(/-+$/, '')}.${domain}` as DomainName;
