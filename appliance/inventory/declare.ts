// Converts sections of a file to domain objects: the domain's parsers read scalars, and omitted fields get defaults.

import type { CpuArchitecture } from '../domain/architecture.ts';
import { parseByteSize } from '../domain/byte-size.ts';
import { PROFILE_DEFAULTS } from '../domain/catalogue.ts';
import { parseChassisUuid } from '../domain/chassis.ts';
import { parseEkFingerprint } from '../domain/hardware-identity.ts';
import { parseIpv4, parsePrefix } from '../domain/ipv4.ts';
import type { EnrollmentMode, HostAccess } from '../domain/machine.ts';
import { type ObjectName, parseDomainName, parseHostname, parseObjectName } from '../domain/names.ts';
import { enrollmentFromOnboarding } from '../domain/stored-inventory.ts';
import { declareLinks, declareRoce } from './declare-links.ts';
import { declareOnboarding, declareSiteOnboarding } from './declare-onboarding.ts';
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

/** The parts of the inventory that provide defaults for other objects. */
export interface DeclareContext {
  /** The only site; null: there is none; undefined: there are several, or they could not be read. */
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
  onboarding: declareSiteOnboarding(site),
  releaseWithoutErase: site.value('release_without_erase', false),
});

export const declareNetwork = (network: Fields<NetworkSection>, context: DeclareContext): NetworkDraft => ({
  name: network.required('name', parseObjectName),
  site: siteOf(network, context, true) ?? undefined,
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
  owner: sku.value('owner', null),
  minimum: sku.record('minimum', (least) => ({
    cores: least.value('cores', null),
    threads: least.value('threads', null),
    memoryBytes: least.optional('memory', parseByteSize),
    disks: least.value('disks', null),
    diskBytes: least.optional('disk_size', parseByteSize),
    nics: least.value('nics', null),
    nicMbps: least.value('nic_mbps', null),
  })),
  hardware: sku.value('hardware', 'warn'),
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
  identity: profile.value('identity', PROFILE_DEFAULTS.identity),
  requiredPcrs: profile.values('required_pcrs', []),
  cabling: profile.value('cabling', PROFILE_DEFAULTS.cabling),
  accounts: declareAccounts(profile),
  bootstrap: declareBootstrap(profile),
  onboarding: declareOnboarding(profile),
});

export const declareCluster = (cluster: Fields<ClusterSection>, context: DeclareContext): ClusterDraft => ({
  name: cluster.required('name', parseObjectName),
  site: siteOf(cluster, context, true) ?? undefined,
  domain: cluster.optional('domain', parseDomainName),
  network: cluster.required('network', parseObjectName),
  bootstrap: cluster.list('bootstrap', parseHostname),
  vip: cluster.optional('vip', parseIpv4),
});

export const declareRoceOf = (roce: Fields<RoceSection>, context: DeclareContext): RoceDraft =>
  declareRoce(roce, siteOf(roce, context, true) ?? undefined);

export function declareNode(node: Fields<NodeSection>, context: DeclareContext): NodeDraft {
  const sku = node.required('sku', parseObjectName);
  return {
    hostname: node.required('name', parseHostname),
    site: siteOf(node, context, false),
    sku,
    profile: node.optional('profile', parseObjectName),
    cluster: node.optional('cluster', parseObjectName),
    architecture: node.value('architecture', sku === undefined ? undefined : context.architectureOf(sku)),
    uuid: node.optional('uuid', parseChassisUuid),
    serial: node.value('serial', null),
    tpm: node.list('tpm', parseEkFingerprint),
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
    // The schema alone validates every field of it.
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
  const enrollment = enrollmentFromOnboarding(onboarding);
  if (node.has('enrollment'))
    node.report('onboarding', 'this key was renamed to enrollment, which is also declared: remove onboarding');
  else node.warn('onboarding', `this key was renamed: write enrollment: ${enrollment}`);
  return enrollment;
}

/** An object without a site belongs to the only site. */
function siteOf(
  fields: Fields<{ site?: string }>,
  context: DeclareContext,
  needed: boolean,
): ObjectName | null | undefined {
  if (fields.has('site')) return fields.optional('site', parseObjectName);
  if (context.onlySite === undefined && context.siteNames.length > 1) {
    fields.report('site', `is missing; choose one of ${context.siteNames.join(', ')}`);
  } else if (context.onlySite === null && needed) {
    fields.report('site', 'is missing, and no site is declared');
  }
  return context.onlySite;
}
