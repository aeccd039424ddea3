// Sections of a file, as objects of the domain: scalars by the domain's parsers, and what was left out by its default.

import type { CpuArchitecture } from '../domain/architecture.ts';
import { PROFILE_DEFAULTS } from '../domain/catalogue.ts';
import { parseChassisUuid } from '../domain/chassis.ts';
import { parseIpv4, parsePrefix } from '../domain/ipv4.ts';
import type { EnrollmentMode, HostAccess } from '../domain/machine.ts';
import { type ObjectName, parseDomainName, parseHostname, parseObjectName } from '../domain/names.ts';
import { enrollmentFromOnboarding } from '../domain/stored-inventory.ts';
import { declareLinks, declareRoce } from './declare-links.ts';
import {
  declareAccounts,
  declareBootstrap,
  declareImage,
  declareStorage,
  parseApiUrl,
  parseTimezone,
} from './declare-system.ts';
import type { ClusterDraft, NetworkDraft, NodeDraft, ProfileDraft, RoceDraft, SiteDraft, SkuDraft } from './drafts.ts';
import type { Fields } from './fields.ts';
import type { ClusterSection, NetworkSection, NodeSection, ProfileSection, SiteSection, SkuSection } from './schema.ts';
import type { RoceSection } from './schema-parts.ts';

/** What an object may leave to the rest of the inventory. */
export interface Surroundings {
  /** The only site there is; null when there is none; undefined when somebody has to choose. */
  readonly onlySite: ObjectName | null | undefined;
  /** The names of all sites, for the message. */
  readonly siteNames: readonly string[];
  architectureOf(sku: ObjectName): CpuArchitecture | undefined;
}

export const declareSite = (site: Fields<SiteSection>): SiteDraft => ({
  name: site.required('name', parseObjectName),
  domain: site.optional('domain', parseDomainName),
  region: site.value('region', null),
  bmcMode: site.value('bmc_mode', 'real'),
  apiUrl: site.optional('api_url', parseApiUrl),
  ntp: site.values('ntp', []),
  timezone: site.optional('timezone', parseTimezone),
  accounts: declareAccounts(site),
  bootstrap: declareBootstrap(site),
  inside: site.list('inside', parsePrefix),
});

export const declareNetwork = (network: Fields<NetworkSection>, around: Surroundings): NetworkDraft => ({
  name: network.required('name', parseObjectName),
  site: siteOf(network, around, true) ?? undefined,
  prefix: network.required('prefix', parsePrefix),
  vlan: network.value('vlan', null),
  gateway: network.optional('gateway', parseIpv4),
  dns: network.list('dns', parseIpv4),
  domain: network.optional('domain', parseDomainName),
  pools: network.items('pools', (pool) => ({
    from: pool.required('from', parseIpv4),
    to: pool.required('to', parseIpv4),
  })),
  server: network.optional('server', parseIpv4),
  interface: network.value('interface', null),
  dhcp: network.value('dhcp', 'off'),
  unknown: network.value('unknown', 'refuse'),
  efiLoader: network.value('efi_loader', 'snponly'),
  secureBoot: network.value('secure_boot', false),
  mtu: network.value('mtu', null),
  routes: network.items('routes', (route) => ({
    to: route.required('to', parsePrefix),
    via: route.required('via', parseIpv4),
  })),
  purpose: network.value('purpose', null),
});

export const declareSku = (sku: Fields<SkuSection>): SkuDraft => ({
  name: sku.required('name', parseObjectName),
  description: sku.value('description', ''),
  active: sku.value('active', true),
  architecture: sku.value('architecture', undefined),
  gpus: sku.value('gpus', 0),
  regions: sku.values('regions', []),
});

export const declareProfile = (profile: Fields<ProfileSection>): ProfileDraft => ({
  name: profile.required('name', parseObjectName),
  kind: profile.value('kind', undefined),
  description: profile.value('description', ''),
  active: profile.value('active', true),
  architectures: profile.values('architectures', ['x86_64']),
  skus: profile.list('skus', parseObjectName),
  role: profile.value('role', null),
  deployMinutes: profile.value('deploy_minutes', 60),
  storage: declareStorage(profile),
  image: declareImage(profile),
  packages: profile.values('packages', []),
  kernelParameters: profile.values('kernel_parameters', []),
  timezone: profile.optional('timezone', parseTimezone),
  locale: profile.value('locale', PROFILE_DEFAULTS.locale),
  keyboard: profile.value('keyboard', PROFILE_DEFAULTS.keyboard),
  stateVersion: profile.value('state_version', PROFILE_DEFAULTS.stateVersion),
  install: profile.value('install', PROFILE_DEFAULTS.install),
  secrets: profile.value('secrets', PROFILE_DEFAULTS.secrets),
  roce: profile.value('roce', PROFILE_DEFAULTS.roce),
  enrollment: profile.value('enrollment', PROFILE_DEFAULTS.enrollment),
  accounts: declareAccounts(profile),
});

export const declareCluster = (cluster: Fields<ClusterSection>, around: Surroundings): ClusterDraft => ({
  name: cluster.required('name', parseObjectName),
  site: siteOf(cluster, around, true) ?? undefined,
  domain: cluster.optional('domain', parseDomainName),
  network: cluster.required('network', parseObjectName),
  bootstrap: cluster.list('bootstrap', parseHostname),
  vip: cluster.optional('vip', parseIpv4),
});

export const declareRoceOf = (roce: Fields<RoceSection>, around: Surroundings): RoceDraft =>
  declareRoce(roce, siteOf(roce, around, true) ?? undefined);

export function declareNode(node: Fields<NodeSection>, around: Surroundings): NodeDraft {
  const sku = node.required('sku', parseObjectName);
  return {
    hostname: node.required('name', parseHostname),
    site: siteOf(node, around, false),
    sku,
    profile: node.optional('profile', parseObjectName),
    cluster: node.optional('cluster', parseObjectName),
    architecture: node.value('architecture', sku === undefined ? undefined : around.architectureOf(sku)),
    uuid: node.optional('uuid', parseChassisUuid),
    serial: node.value('serial', null),
    ...declareLinks(node),
    bmc: node.record('bmc', (bmc) => ({
      address: bmc.required('address', parseIpv4),
      driver: bmc.value('driver', 'ipmi'),
      username: bmc.value('username', null),
      passwordFile: bmc.value('password_file', null),
    })),
    secureBoot: node.value('secure_boot', null),
    plainPxe: node.value('plain_pxe', false),
    gpus: node.value('gpus', null),
    region: node.value('region', null),
    // Every field of it is settled by the schema alone.
    access: node.record('access', (access) => ({
      host: access.value('host', undefined),
      port: access.value('port', 22),
      sshUsername: access.value('ssh_username', undefined),
      sshPublicKey: access.value('ssh_public_key', undefined),
    })) as HostAccess | null | undefined,
    enrollment: enrollmentOf(node),
    storage: declareStorage(node),
    accounts: declareAccounts(node),
    packages: node.values('packages', []),
    labels: node.value('labels', {}) as Readonly<Record<string, string>> | undefined,
  };
}

function enrollmentOf(node: Fields<NodeSection>): EnrollmentMode | null | undefined {
  if (!node.has('onboarding')) return node.value('enrollment', null);
  const onboarding = node.value('onboarding', undefined);
  if (onboarding === undefined) return undefined;
  const meant = enrollmentFromOnboarding(onboarding);
  if (node.has('enrollment')) node.report('onboarding', 'enrollment says it already: remove this key, its old name');
  else node.warn('onboarding', `this key is now called enrollment: write enrollment: ${meant}`);
  return meant;
}

/** Who leaves its site out belongs to the only one there is. */
function siteOf(
  fields: Fields<{ site?: string }>,
  around: Surroundings,
  needed: boolean,
): ObjectName | null | undefined {
  if (fields.has('site')) return fields.optional('site', parseObjectName);
  if (around.onlySite === undefined && around.siteNames.length > 1) {
    fields.report('site', `is missing; there is more than one: ${around.siteNames.join(', ')}`);
  } else if (around.onlySite === null && needed) {
    fields.report('site', 'is missing, and no site is declared');
  }
  return around.onlySite;
}
