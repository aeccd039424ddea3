// Registers a running host as a node: checks it against the catalogue, probes it if requested, and writes it with its
// audit entry in one commit.

import { parseSshPublicKey, type SshPublicKey } from '../allocations/ssh-public-key.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Origin } from '../domain/event.ts';
import type { Inventory } from '../domain/inventory.ts';
import { type Ipv4, parseIpv4 } from '../domain/ipv4.ts';
import { lifeIn } from '../domain/lifecycle.ts';
import { type BmcEndpoint, type Machine, type MachineId, type MachineSpec, NODE_DEFAULTS } from '../domain/machine.ts';
import { type Hostname, type ObjectName, parseDomainName, parseHostname } from '../domain/names.ts';
import { type Parsed, parsed, shown, unparsable } from '../domain/parsed.ts';
import type { Role } from '../domain/token.ts';
import type { ManagementDeps, ProbeResult } from './deps.ts';

export interface HostRegistration {
  readonly host: string;
  readonly port: number;
  readonly sshUsername: string;
  readonly sshPublicKey: string;
  readonly sku: string;
  readonly gpus: number;
  readonly region: string;
  readonly onboarding: 'manual' | 'maas';
  readonly probe: boolean;
  readonly hostname: string | null;
}

type Edge = Pick<ManagementDeps, 'store' | 'clock' | 'newId' | 'probe' | 'maas' | 'onboardings'>;

/** What MAAS and the site add to a request that names neither a BMC nor a profile. */
interface Prepared {
  readonly site: ObjectName;
  readonly profile: ObjectName;
  readonly bmc: BmcEndpoint;
}

/** Others may change the inventory while a probe runs; after this many retries the request fails. */
const ATTEMPTS = 5;

export async function registerHost(
  edge: Edge,
  registration: HostRegistration,
  by: Origin,
  role: Role | null,
): Promise<{ machine: Machine; probe: ProbeResult | null; onboarding: string | null }> {
  const { host, hostname: derived, key } = readRequest(registration);
  specFor(await edge.store.inventory(), registration, host, derived, key, null);
  const inMaas = registration.onboarding === 'maas' ? await findInMaas(edge, host, registration.hostname) : null;
  const hostname = inMaas?.hostname ?? derived;
  const prepared = inMaas && preparedFor(await edge.store.inventory(), registration.region, inMaas.bmc);
  const login = { username: registration.sshUsername, line: key.line };
  const probe = registration.probe ? await edge.probe(host, registration.port, login) : null;
  if (probe?.reached === false) throw new ColdironError('probe_failed', probe.reason);

  const id = edge.newId() as MachineId;
  for (let attempt = 1; ; attempt += 1) {
    const inventory = await edge.store.inventory();
    const spec = specFor(inventory, registration, host, hostname, key, prepared);
    try {
      await write(edge, inventory.declaredRevision, { id, spec, key, probe }, by);
      break;
    } catch (error) {
      const raced = error instanceof ColdironError && error.code === 'version_conflict';
      if (!raced || attempt === ATTEMPTS) throw error;
    }
  }
  const machine = await edge.store.machine(id);
  if (!machine) throw new Error(`node ${id} was written but cannot be read`);
  if (prepared === null) return { machine, probe, onboarding: null };
  const { site, profile, bmc } = prepared;
  const fields = { site_id: site, profile_id: profile, sku_id: registration.sku, hostname, ipmi_ip: bmc.address };
  const run = await edge.onboardings.request(fields, by, role, 'maas');
  return { machine, probe, onboarding: run.id };
}

const MANUAL = 'The same request with onboarding_mode manual works.';

async function findInMaas(
  { maas }: Edge,
  host: string,
  name: string | null,
): Promise<{ hostname: Hostname; bmc: Ipv4 }> {
  if (maas === null) {
    const reason = 'no MAAS is configured on this appliance (maas: in the site file)';
    throw new ColdironError('service_unavailable', reason, [], MANUAL);
  }
  const found = await maas.find(host, name);
  const hostname = parseHostname(name ?? found.hostname);
  const bmc = parseIpv4(found.bmcAddress);
  if (hostname.ok && bmc.ok) return { hostname: hostname.value, bmc: bmc.value };
  throw new ColdironError('service_unavailable', 'MAAS names the machine in a way that cannot be used', [], MANUAL);
}

/** `service_unavailable`: the onboarding could not go on, so nothing is created. */
function preparedFor(inventory: Inventory, region: string, address: Ipv4): Prepared {
  const site = inventory.sites.find(({ name }) => name === siteIn(inventory, region));
  const profile = site?.onboarding.maasProfile;
  if (site === undefined || profile === undefined) {
    const reason = site
      ? `site ${site.name} does not say which profile MAAS deploys (onboarding.maas.profile)`
      : `region_code: no single site has the region ${region}, so there is no policy for MAAS`;
    throw new ColdironError('service_unavailable', reason, [], MANUAL);
  }
  const login = { driver: 'ipmi', username: null, passwordFile: null, ...site.onboarding.bmc } as const;
  return { site: site.name, profile, bmc: { ...login, address } };
}

/** The name checks that need no catalogue, all at once. */
function readRequest(registration: HostRegistration): { host: string; hostname: Hostname; key: SshPublicKey } {
  const host = parseHost(registration.host);
  const hostname = parseHostname(registration.hostname ?? (host.ok ? hostnameFrom(host.value) : 'unknown'));
  const key = parseSshPublicKey(registration.sshPublicKey);
  if (host.ok && hostname.ok && key.ok) return { host: host.value, hostname: hostname.value, key: key.value };
  const problems = [
    ...(host.ok ? [] : [`host: ${host.reason}`]),
    ...(hostname.ok ? [] : [`hostname: ${hostname.reason}`]),
    ...(key.ok ? [] : [`ssh_public_key: ${key.reason}`]),
  ];
  throw new ColdironError('invalid_request', problems[0] ?? '', problems.length > 1 ? problems : []);
}

function parseHost(text: string): Parsed<string> {
  const lower = text.toLowerCase();
  // A last label of digits only is never a DNS name (RFC 1123 §2.1): it is a malformed address.
  const isName = parseDomainName(lower).ok && !/(^|\.)\d+$/.test(lower);
  return isName || parseIpv4(lower).ok ? parsed(lower) : unparsable(`not an IPv4 address or DNS name: ${shown(text)}`);
}

const hostnameFrom = (host: string): string =>
  parseIpv4(host).ok ? `node-${host.replaceAll('.', '-')}` : (host.split('.')[0] ?? host);

function specFor(
  inventory: Inventory,
  registration: HostRegistration,
  host: string,
  hostname: Hostname,
  key: SshPublicKey,
  prepared: Prepared | null,
): MachineSpec {
  const { region, gpus } = registration;
  const sku = inventory.skus.find(({ name }) => name === registration.sku);
  if (!sku)
    throw new ColdironError(
      'invalid_sku',
      `sku: the catalogue has no ${shown(registration.sku)}; ${activeSkus(inventory)}`,
    );
  const mismatches = [
    ...(sku.active ? [] : [`sku: ${sku.name} is not active; ${activeSkus(inventory)}`]),
    ...(sku.gpus === gpus ? [] : [`gpus_total: ${sku.name} has ${sku.gpus}, not ${gpus}`]),
    ...(sku.regions.length === 0 || sku.regions.includes(region)
      ? []
      : [`region_code: ${sku.name} is offered in ${sku.regions.join(', ')}, not in ${shown(region)}`]),
  ];
  if (mismatches.length > 0) {
    throw new ColdironError('invalid_sku', mismatches.join('; '), mismatches.length > 1 ? mismatches : []);
  }
  for (const { spec, lifecycle } of inventory.machines) {
    if (spec.access?.host === host) {
      throw new ColdironError('conflict', `host: ${host} is node ${spec.hostname} already (${lifecycle.state})`);
    }
    if (spec.hostname === hostname) {
      throw new ColdironError('conflict', `hostname: there is a node ${hostname} already (${lifecycle.state})`);
    }
  }
  return {
    ...NODE_DEFAULTS,
    hostname,
    site: siteIn(inventory, region),
    sku: sku.name,
    profile: prepared?.profile ?? null,
    cluster: null,
    architecture: sku.architecture,
    uuid: null,
    serial: null,
    interfaces: [],
    bmc: prepared?.bmc ?? null,
    secureBoot: null,
    gpus,
    region,
    access: { host, port: registration.port, sshUsername: registration.sshUsername, sshPublicKey: key.line },
    enrollment: prepared === null ? 'manual' : 'first-boot',
    labels: {},
  };
}

function activeSkus({ skus }: Inventory): string {
  const names = skus.filter(({ active }) => active).map(({ name }) => name);
  return names.length === 0 ? 'it has no active SKU: declare one in the inventory' : `active are ${names.join(', ')}`;
}

/** The request names no site: the region determines it if only one site has that region. */
function siteIn(inventory: Inventory, region: string): ObjectName | null {
  const [site, ...others] = inventory.sites.filter((candidate) => candidate.region === region);
  return site && others.length === 0 ? site.name : null;
}

async function write(
  { store, clock }: Edge,
  declaredRevision: number,
  node: { id: MachineId; spec: MachineSpec; key: SshPublicKey; probe: ProbeResult | null },
  { actor, correlationId }: Origin,
): Promise<void> {
  const at = clock.now();
  const { id, spec, key, probe } = node;
  const facts = {
    id,
    source: 'api',
    sku: spec.sku,
    gpus: spec.gpus,
    region: spec.region,
    enrollment: spec.enrollment,
    host: spec.access?.host ?? null,
    port: spec.access?.port ?? null,
    ssh_username: spec.access?.sshUsername ?? null,
    ssh_key: key.fingerprint,
    ssh_banner: probe?.reached ? probe.banner : null,
    ssh_host_key: (probe?.reached ? probe.hostKey : null) ?? null,
  };
  await store.writeInventory({
    declaredRevision,
    putCatalogue: [],
    dropCatalogue: [],
    createMachines: [
      {
        id,
        spec,
        source: 'api',
        lifecycle: lifeIn('registered', at),
      },
    ],
    changeMachines: [],
    removeMachines: [],
    events: [{ at, kind: 'node.registered', actor, machine: id, correlationId, data: facts }],
    audit: [
      {
        at,
        actor,
        action: 'node.registered',
        target: `node:${spec.hostname}`,
        correlationId,
        before: null,
        after: facts,
      },
    ],
  });
}
