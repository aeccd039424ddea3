// The plan of one node of the inventory: all values of its renderings, or every reason why it cannot be rendered.

import { IMAGE_KINDS, type Profile } from '../domain/catalogue.ts';
import type { Ipv4 } from '../domain/ipv4.ts';
import type { Machine, MachineSpec } from '../domain/machine.ts';
import type { DomainName } from '../domain/names.ts';
import type { Site, SiteNetwork } from '../domain/network.ts';
import type { Account, Storage } from '../domain/system.ts';
import type { NodePlan, PlannedLink } from './node-plan.ts';
import { domainOf, fqdnOf, planCluster } from './plan-cluster.ts';
import { inService, type PlanIndex } from './plan-index.ts';
import { planLinks, workingLinks } from './plan-links.ts';

export type PlannedNode =
  | { readonly ok: true; readonly plan: NodePlan }
  | { readonly ok: false; readonly reasons: readonly string[] };

/** Pure: the same inventory always results in the same plan. */
export function planNode(index: PlanIndex, machine: Machine): PlannedNode {
  const { spec } = machine;
  const reasons: string[] = [];
  if (!inService(machine)) reasons.push(`it is ${machine.lifecycle.state}`);
  const site = siteOf(index, spec, reasons);
  const profile = profileOf(index, spec, reasons);
  const links = planLinks(index, spec);
  for (const name of unknownNetworks(index, spec)) reasons.push(`its network ${name} is not declared`);
  if (links.every(({ address }) => address === null)) {
    reasons.push('it has no address: no link has one, and none of its networks assigns addresses');
  }
  const cluster = planCluster(index, spec, reasons);
  if (!site || !profile || reasons.length > 0) return { ok: false, reasons };

  const working = workingLinks(links);
  const networks = networksOf(index, working);
  const domain = domainOf(index, spec, networks[0] ?? null);
  return {
    ok: true,
    plan: {
      id: machine.id,
      hostname: spec.hostname,
      domain,
      fqdn: fqdnOf(spec.hostname, domain),
      site: site.name,
      region: spec.region ?? site.region,
      inventoryRevision: index.declaredRevision,
      architecture: spec.architecture,
      secureBoot: spec.secureBoot ?? networksOf(index, links).some(({ secureBoot }) => secureBoot),
      profile: { name: profile.name, kind: profile.kind, role: profile.role, image: profile.image },
      links,
      gateway: gatewayOf(index, working),
      nameservers: [...new Set(networks.find(({ dns }) => dns.length > 0)?.dns ?? [])],
      searchDomains: searchDomains(domain, networks[0] ?? null),
      storage: storageOf(spec, profile),
      accounts: accountsOf(site, profile, spec),
      timeZone: profile.timezone ?? site.timezone ?? 'UTC',
      ntpServers: site.ntp,
      locale: profile.locale,
      keyboard: profile.keyboard,
      packages: [...new Set([...profile.packages, ...spec.packages])],
      kernelParameters: profile.kernelParameters,
      stateVersion: profile.stateVersion,
      secretsBy: profile.secrets,
      cluster,
      roce: profile.roce ? (index.roceOf(spec)?.links ?? []) : [],
      siteBootstrap: profile.bootstrap ?? site.bootstrap,
      enrollment: spec.enrollment ?? profile.enrollment,
      labels: spec.labels,
    },
  };
}

function siteOf(index: PlanIndex, spec: MachineSpec, reasons: string[]): Site | null {
  const site = spec.site === null ? undefined : index.sites.get(spec.site);
  if (spec.site === null) reasons.push('it has no site (site:)');
  else if (!site) reasons.push(`its site ${spec.site} is not declared`);
  return site ?? null;
}

function profileOf(index: PlanIndex, spec: MachineSpec, reasons: string[]): Profile | null {
  const profile = spec.profile === null ? undefined : index.profiles.get(spec.profile);
  if (spec.profile === null) reasons.push('it has no profile (profile:)');
  else if (!profile) reasons.push(`its profile ${spec.profile} is not declared`);
  if (!profile) return null;
  if (!profile.architectures.includes(spec.architecture)) {
    const known = profile.architectures.join(', ');
    reasons.push(`its profile ${profile.name} is for ${known}, but the node is ${spec.architecture}`);
  }
  if (profile.kind === 'cloud-image' && profile.image === null) {
    reasons.push(`its profile ${profile.name} writes an image but names none (image:)`);
  }
  return profile;
}

const unknownNetworks = (index: PlanIndex, spec: MachineSpec): Set<string> =>
  new Set(
    [...spec.interfaces, ...spec.bonds, ...spec.vlans].flatMap(({ network }) =>
      network !== null && !index.networks.has(network) ? [network] : [],
    ),
  );

const networksOf = (index: PlanIndex, links: readonly PlannedLink[]): SiteNetwork[] =>
  links.flatMap(({ network }) => (network === null ? [] : (index.networks.get(network) ?? [])));

/** A link with a DHCP address gets its gateway from DHCP too. */
function gatewayOf(index: PlanIndex, working: readonly PlannedLink[]): Ipv4 | null {
  const fixed = working.filter(({ address }) => address !== 'dhcp');
  return networksOf(index, fixed).find(({ gateway }) => gateway !== null)?.gateway ?? null;
}

const searchDomains = (domain: DomainName | null, network: SiteNetwork | null): DomainName[] => [
  ...new Set([domain, network?.domain ?? null].flatMap((one) => one ?? [])),
];

/** The only disk of the machine, whatever it is. */
const PLAIN_STORAGE: Storage = {
  layout: 'single',
  disks: [{ byId: null, serial: null, model: null, minBytes: null, maxBytes: null, rotational: null }],
  filesystem: 'ext4',
  swapMegabytes: 0,
};

function storageOf(spec: MachineSpec, { kind, storage }: Profile): Storage | null {
  return spec.storage ?? storage ?? (IMAGE_KINDS.includes(kind) ? null : PLAIN_STORAGE);
}

/** By name, in the order of first occurrence; the most specific declaration wins. */
function accountsOf(...sources: readonly { readonly accounts: readonly Account[] }[]): Account[] {
  const accounts = new Map<string, Account>();
  for (const { accounts: list } of sources) for (const account of list) accounts.set(account.name, account);
  return [...accounts.values()];
}
