// The expected values of an evaluated configuration, computed from the plan alone, field by field, and general requirements.

import { CLUSTER_SERVICES } from '../../../appliance/domain/cluster-services.ts';
import type { NodePlan } from '../../../appliance/render/node-plan.ts';
import type { Evaluated } from './nix-evaluation.ts';

/** `networking.interfaces.eth0` of an evaluated configuration; undefined if it is not set. */
export function at(value: Evaluated | undefined, ...path: readonly string[]): Evaluated | undefined {
  let now = value;
  for (const name of path) {
    if (typeof now !== 'object' || now === null || Array.isArray(now)) return undefined;
    now = now[name];
  }
  return now;
}

export const namesIn = (value: Evaluated | undefined): string[] =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];

export function configuredValues(configuration: Evaluated, plan: NodePlan) {
  const networking = at(configuration, 'networking');
  const on = CLUSTER_SERVICES.filter(({ name }) => at(configuration, 'services', name, 'enable') === true);
  return {
    hostname: at(networking, 'hostName'),
    domain: at(networking, 'domain'),
    links: namesIn(at(networking, 'interfaces')).sort(),
    addresses: Object.fromEntries(
      plan.links.map(({ name }) => [name, at(networking, 'interfaces', name, 'ipv4', 'addresses')]),
    ),
    routes: Object.fromEntries(
      plan.links.map(({ name }) => [name, at(networking, 'interfaces', name, 'ipv4', 'routes')]),
    ),
    dhcp: plan.links
      .filter(({ name }) => at(networking, 'interfaces', name, 'useDHCP') === true)
      .map(({ name }) => name),
    mtus: Object.fromEntries(plan.links.map(({ name }) => [name, at(networking, 'interfaces', name, 'mtu') ?? null])),
    bonds: Object.fromEntries(
      namesIn(at(networking, 'bonds')).map((name) => [
        name,
        [at(networking, 'bonds', name, 'interfaces'), at(networking, 'bonds', name, 'driverOptions', 'mode')],
      ]),
    ),
    vlans: at(networking, 'vlans') ?? {},
    gateway: at(networking, 'defaultGateway', 'address') ?? null,
    nameservers: at(networking, 'nameservers'),
    search: at(networking, 'search'),
    timeServers: at(networking, 'timeServers') ?? [],
    cards: Object.fromEntries(
      namesIn(at(configuration, 'systemd', 'network', 'links')).map((unit) => [
        at(configuration, 'systemd', 'network', 'links', unit, 'linkConfig', 'Name'),
        [
          at(configuration, 'systemd', 'network', 'links', unit, 'matchConfig', 'PermanentMACAddress'),
          at(configuration, 'systemd', 'network', 'links', unit, 'linkConfig', 'MTUBytes') ?? null,
        ],
      ]),
    ),
    lossless: namesIn(at(configuration, 'coldiron', 'lossless')).map((name) => [
      name,
      at(configuration, 'coldiron', 'lossless', name, 'priority'),
    ]),
    timeZone: at(configuration, 'time', 'timeZone'),
    locale: at(configuration, 'i18n', 'defaultLocale'),
    keyboard: at(configuration, 'console', 'keyMap'),
    packages: at(configuration, 'environment', 'systemPackages'),
    kernelParameters: at(configuration, 'boot', 'kernelParams'),
    platform: at(configuration, 'nixpkgs', 'hostPlatform'),
    stateVersion: at(configuration, 'system', 'stateVersion'),
    keys: Object.fromEntries(
      plan.accounts.map(({ name }) => [
        name,
        at(configuration, 'users', 'users', name, 'openssh', 'authorizedKeys', 'keys'),
      ]),
    ),
    admins: plan.accounts.filter(({ name }) => isAdmin(configuration, name)).map(({ name }) => name),
    services: on.map(({ name }) => [
      name,
      at(configuration, 'services', name, 'port'),
      at(configuration, 'services', name, 'raftPort') ?? null,
      at(configuration, 'services', name, 'gossipPort') ?? null,
    ]),
    keyPaths: on.map(({ name }) => at(configuration, 'services', name, 'settings', 'tls', 'key_path')),
    clusterNames: on.map(({ name }) => at(configuration, 'services', name, 'settings', 'cluster_name') ?? null),
    firstBoot: at(configuration, 'services', 'first-boot-automation', 'enable'),
    bootstrapScript: at(configuration, 'services', 'site-bootstrap', 'script') ?? null,
  };
}

const isAdmin = (configuration: Evaluated, name: string): boolean => {
  const groups = at(configuration, 'users', 'users', name, 'extraGroups');
  return Array.isArray(groups) && groups.includes('wheel');
};

export function plannedValues(plan: NodePlan): ReturnType<typeof configuredValues> {
  const { cluster, profile } = plan;
  const own = CLUSTER_SERVICES.filter(
    ({ roles }) => cluster !== null && profile.role !== null && roles.includes(profile.role),
  );
  const port = (service: (typeof CLUSTER_SERVICES)[number], purpose: string) =>
    service.ports.find((one) => one.purpose === purpose)?.port ?? null;
  return {
    hostname: plan.hostname,
    domain: plan.domain,
    links: [...plan.links, ...plan.roce].map(({ name }) => name).sort(),
    addresses: Object.fromEntries(
      plan.links.map(({ name, address }) => [
        name,
        address === null || address === 'dhcp' ? [] : [{ address: address.ip, prefixLength: address.prefix.length }],
      ]),
    ),
    routes: Object.fromEntries(
      plan.links.map(({ name, routes }) => [
        name,
        routes.map(({ to, via }) => ({ address: to.network, prefixLength: to.length, via })),
      ]),
    ),
    dhcp: plan.links.filter(({ address }) => address === 'dhcp').map(({ name }) => name),
    mtus: Object.fromEntries(plan.links.map(({ name, mtu }) => [name, mtu])),
    bonds: Object.fromEntries(
      plan.links.flatMap((link) => (link.kind === 'bond' ? [[link.name, [[...link.members], link.mode]]] : [])),
    ),
    vlans: Object.fromEntries(
      plan.links.flatMap((link) =>
        link.kind === 'vlan' ? [[link.name, { id: link.id, interface: link.parent }]] : [],
      ),
    ),
    gateway: plan.gateway,
    nameservers: [...plan.nameservers],
    search: [...plan.searchDomains],
    timeServers: [...plan.ntpServers],
    cards: Object.fromEntries(
      [...plan.links.flatMap((link) => (link.kind === 'ethernet' ? [link] : [])), ...plan.roce].flatMap(
        ({ name, mac, mtu }) => (mac === null ? [] : [[name, [mac, mtu === null ? null : `${mtu}`]]]),
      ),
    ),
    lossless: plan.roce.flatMap(({ name, priority }) => (priority === null ? [] : [[name, priority]])),
    timeZone: plan.timeZone,
    locale: plan.locale,
    keyboard: plan.keyboard,
    packages: plan.packages.map((name) => `/nix/store/${'0'.repeat(32)}-${name}`),
    kernelParameters: [...plan.kernelParameters],
    platform: plan.architecture === 'arm64' ? 'aarch64-linux' : 'x86_64-linux',
    stateVersion: plan.stateVersion,
    keys: Object.fromEntries(plan.accounts.map(({ name, sshKeys }) => [name, [...sshKeys]])),
    admins: plan.accounts.filter(({ admin, name }) => admin && name !== 'root').map(({ name }) => name),
    services: own.map((service) => [
      service.name,
      port(service, 'api'),
      port(service, 'raft'),
      port(service, 'gossip'),
    ]),
    keyPaths: own.map(() =>
      plan.secretsBy === 'sops' ? '/run/secrets/of-sops' : `/etc/nixos/secrets/${plan.hostname}-key.pem`,
    ),
    clusterNames: own.map(({ name }) => (name === 'iam' ? null : (cluster?.name ?? null))),
    firstBoot: cluster !== null,
    bootstrapScript: plan.siteBootstrap?.script ?? null,
  };
}

/** What NixOS would reject, or would keep a machine from booting, although every single value is correct. */
export function gapsIn(configuration: Evaluated): string[] {
  const loaders = ['grub', 'systemd-boot'].filter(
    (name) => at(configuration, 'boot', 'loader', name, 'enable') === true,
  );
  const text = JSON.stringify(at(configuration, 'disko', 'devices') ?? null);
  const links = namesIn(at(configuration, 'networking', 'interfaces'));
  const gateway = at(configuration, 'networking', 'defaultGateway', 'address');
  const users = namesIn(at(configuration, 'users', 'users'));
  const isKind = (name: string) =>
    name === 'root' ||
    at(configuration, 'users', 'users', name, 'isNormalUser') !==
      at(configuration, 'users', 'users', name, 'isSystemUser');
  const usesEth = links.some((name) => /^eth\d+$/.test(name));
  const isPredictable = at(configuration, 'networking', 'usePredictableInterfaceNames');
  return [
    ...(loaders.length === 1 ? [] : [`${loaders.length} boot loaders`]),
    ...(text.includes('"mountpoint":"/"') ? [] : ['no root file system']),
    ...(text.includes('"mountpoint":"/boot"') ? [] : ['no boot file system']),
    ...(at(configuration, 'nixpkgs', 'hostPlatform') ? [] : ['no platform']),
    ...(usesEth && isPredictable !== false ? ['eth names that no interface will have'] : []),
    ...(typeof gateway !== 'string' || isReached(configuration, gateway) ? [] : ['a gateway on none of its networks']),
    ...users.filter((name) => !isKind(name)).map((name) => `${name} is neither a person nor a service`),
    ...(text.includes('"type":"zpool"') && !at(configuration, 'networking', 'hostId') ? ['ZFS without a host id'] : []),
    ...(text.includes('"type":"mdadm"') && at(configuration, 'boot', 'swraid', 'enable') !== true
      ? ['RAID arrays that nothing assembles']
      : []),
  ];
}

function isReached(configuration: Evaluated, gateway: string): boolean {
  const interfaces = at(configuration, 'networking', 'interfaces');
  return namesIn(interfaces).some((name) => {
    if (at(interfaces, name, 'useDHCP') === true) return true;
    const addresses = at(interfaces, name, 'ipv4', 'addresses');
    return (Array.isArray(addresses) ? addresses : []).some((one) =>
      isInNetworkOf(gateway, String(at(one, 'address')), Number(at(one, 'prefixLength'))),
    );
  });
}

const numberOf = (address: string): number => address.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);

function isInNetworkOf(gateway: string, address: string, length: number): boolean {
  const networkOf = (one: string): number => Math.floor(numberOf(one) / 2 ** (32 - length));
  return networkOf(gateway) === networkOf(address);
}
