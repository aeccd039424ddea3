// Plans of nodes as the inventory would produce them: the runbook's rack, and one node for each feature of a plan.

import type { Ipv4, Prefix } from '../../appliance/domain/ipv4.ts';
import { parseIpv4, parsePrefix } from '../../appliance/domain/ipv4.ts';
import { type Mac, parseMac } from '../../appliance/domain/mac.ts';
import { parseMachineId } from '../../appliance/domain/machine.ts';
import {
  type DomainName,
  type Hostname,
  type ObjectName,
  parseDomainName,
  parseHostname,
  parseObjectName,
} from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import type { Account, DiskSelector, Storage } from '../../appliance/domain/system.ts';
import type { ClusterMember, ClusterPlan, EthernetLink, NodePlan, NodeRole } from '../../appliance/render/node-plan.ts';

export const ip = (text: string): Ipv4 => mustParse(parseIpv4(text));
export const prefix = (text: string): Prefix => mustParse(parsePrefix(text));
export const mac = (text: string): Mac => mustParse(parseMac(text));
export const host = (text: string): Hostname => mustParse(parseHostname(text));
export const domain = (text: string): DomainName => mustParse(parseDomainName(text));
export const named = (text: string): ObjectName => mustParse(parseObjectName(text));

export const byId = (name: string): DiskSelector => ({
  byId: name,
  serial: null,
  model: null,
  minBytes: null,
  maxBytes: null,
  rotational: null,
});

export const ANY_DISK: DiskSelector = { ...byId(''), byId: null };

const storage = (changes: Partial<Storage> = {}): Storage => ({
  layout: 'single',
  disks: [byId('nvme-SAMSUNG_MZQL2960HCJR-00A07_S64FNE0R500001')],
  filesystem: 'ext4',
  swapMegabytes: 0,
  ...changes,
});

const OPERATOR: Account = {
  name: 'operator',
  sshKeys: ['ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJt1vHfBpYDDDqDdnQ5Q1PpoQFwSKuJnE9RyCj0mVfEg operator@example.com'],
  admin: true,
  sudo: { commands: ['/usr/bin/systemctl restart nginx.service', '/usr/bin/id'], reviewer: 'ada' },
};

const member = (name: string, address: string, role: NodeRole): ClusterMember => ({
  hostname: host(name),
  fqdn: `${name}.example.com`,
  address: ip(address),
  role,
});

const NODE01 = member('node01', '10.0.200.10', 'control-plane');
const NODE02 = member('node02', '10.0.200.11', 'control-plane');
const NODE03 = member('node03', '10.0.200.12', 'control-plane');
const NODE04 = member('node04', '10.0.200.20', 'worker');

const cluster = (self: ClusterMember): ClusterPlan => ({
  name: named('prod-cluster'),
  network: named('production'),
  prefix: prefix('10.0.200.0/24'),
  vip: ip('10.0.200.100'),
  mode: self.role === 'worker' ? 'join' : 'bootstrap',
  self,
  leader: NODE01,
  bootstrap: [NODE01, NODE02, NODE03],
  members: [NODE01, NODE02, NODE03, NODE04],
});

const ethernet = (name: string, address: string, hardware: string, purpose: EthernetLink['purpose']): EthernetLink => ({
  kind: 'ethernet',
  name,
  network: named(purpose),
  purpose,
  mtu: null,
  address: { ip: ip(address), prefix: prefix(address.replace(/\.\d+$/, '.0/24')) },
  routes: [],
  mac: mac(hardware),
});

const BASE: NodePlan = {
  id: mustParse(parseMachineId('6a1d5f0e-3c39-4c50-9f6e-2b6a1d5f0e01')),
  hostname: host('node01'),
  domain: domain('example.com'),
  fqdn: 'node01.example.com',
  site: named('example'),
  region: 'region-1',
  inventoryRevision: 7,
  architecture: 'x86_64',
  secureBoot: false,
  profile: { name: named('control-plane'), kind: 'nixos', role: 'control-plane', image: null },
  links: [
    ethernet('eth0', '10.0.100.50', '52:54:00:12:34:56', 'provisioning'),
    ethernet('eth1', '10.0.200.10', '52:54:00:22:34:56', 'production'),
  ],
  gateway: ip('10.0.200.1'),
  nameservers: [ip('10.0.200.1'), ip('8.8.8.8')],
  searchDomains: [domain('example.com')],
  storage: storage(),
  accounts: [OPERATOR],
  timeZone: 'UTC',
  ntpServers: ['ntp.example.com'],
  locale: 'en_US.UTF-8',
  keyboard: 'us',
  packages: ['curl', 'jq'],
  kernelParameters: ['console=ttyS0,115200n8'],
  stateVersion: '24.11',
  secretsBy: 'files',
  cluster: cluster(NODE01),
  roce: [],
  siteBootstrap: null,
  enrollment: 'manual',
  labels: { rack: 'r1', unit: '1' },
};

const ofRack = (number: number, self: ClusterMember, provisioning: string): NodePlan => ({
  ...BASE,
  id: mustParse(parseMachineId(`6a1d5f0e-3c39-4c50-9f6e-2b6a1d5f0e0${number}`)),
  hostname: self.hostname,
  fqdn: self.fqdn,
  profile: { name: named(self.role), kind: 'nixos', role: self.role, image: null },
  links: [
    ethernet('eth0', provisioning, `52:54:00:12:34:5${number + 5}`, 'provisioning'),
    ethernet('eth1', self.address, `52:54:00:22:34:5${number + 5}`, 'production'),
  ],
  cluster: cluster(self),
  labels: { rack: 'r1', unit: String(number) },
});

const alone = (name: string, number: number): NodePlan => ({
  ...BASE,
  id: mustParse(parseMachineId(`6a1d5f0e-3c39-4c50-9f6e-2b6a1d5f0e${number}`)),
  hostname: host(name),
  fqdn: `${name}.example.com`,
  profile: { name: named('plain'), kind: 'nixos', role: null, image: null },
  cluster: null,
  labels: {},
});

/** Two interfaces bonded, two VLANs on them, jumbo frames, routes, two mirrored disks, a lossless link, 64-bit ARM. */
const bonded: NodePlan = {
  ...alone('bonded01', 11),
  architecture: 'arm64',
  links: [
    { ...ethernet('enp1s0f0', '10.0.100.61', '52:54:00:12:35:01', 'other'), network: null, mtu: 9000, address: null },
    { ...ethernet('enp1s0f1', '10.0.100.61', '52:54:00:12:35:02', 'other'), network: null, mtu: 9000, address: null },
    {
      kind: 'bond',
      name: 'bond0',
      network: named('provisioning'),
      purpose: 'provisioning',
      mtu: 9000,
      address: { ip: ip('10.0.100.61'), prefix: prefix('10.0.100.0/24') },
      routes: [],
      mode: '802.3ad',
      members: ['enp1s0f0', 'enp1s0f1'],
    },
    {
      kind: 'vlan',
      name: 'bond0.200',
      network: named('production'),
      purpose: 'production',
      mtu: 1500,
      address: { ip: ip('10.0.200.31'), prefix: prefix('10.0.200.0/24') },
      routes: [{ to: prefix('10.9.0.0/16'), via: ip('10.0.200.254') }],
      id: 200,
      parent: 'bond0',
    },
    {
      kind: 'vlan',
      name: 'storage',
      network: named('storage'),
      purpose: 'other',
      mtu: null,
      address: 'dhcp',
      routes: [],
      id: 300,
      parent: 'bond0',
    },
  ],
  storage: storage({ layout: 'mirror', disks: [byId('ata-DISK_A'), byId('ata-DISK_B')], swapMegabytes: 4096 }),
  roce: [
    {
      name: 'enp2s0',
      mac: mac('52:54:00:12:35:03'),
      address: ip('10.0.50.31'),
      prefixLength: 24,
      mtu: 4200,
      priority: 3,
    },
  ],
};

/** All services on one machine that is a cluster of its own, on ZFS, with sops and a bootstrap script of its site. */
const allInOne: NodePlan = {
  ...alone('lab01', 12),
  domain: null,
  fqdn: 'lab01',
  profile: { name: named('all-in-one'), kind: 'nixos', role: 'all-in-one', image: null },
  secretsBy: 'sops',
  links: [
    { ...ethernet('eth0', '10.0.100.70', '52:54:00:12:36:01', 'provisioning'), address: 'dhcp' },
    ethernet('eth1', '10.0.200.70', '52:54:00:22:36:01', 'production'),
  ],
  searchDomains: [],
  storage: storage({ layout: 'zfs', disks: [byId('ata-DISK_A'), byId('ata-DISK_B')], swapMegabytes: 1024 }),
  cluster: {
    ...cluster({ ...NODE01, hostname: host('lab01'), fqdn: 'lab01', address: ip('10.0.200.70'), role: 'all-in-one' }),
    name: named('lab'),
    vip: null,
    leader: { hostname: host('lab01'), fqdn: 'lab01', address: ip('10.0.200.70'), role: 'all-in-one' },
    bootstrap: [{ hostname: host('lab01'), fqdn: 'lab01', address: ip('10.0.200.70'), role: 'all-in-one' }],
    members: [{ hostname: host('lab01'), fqdn: 'lab01', address: ip('10.0.200.70'), role: 'all-in-one' }],
  },
  siteBootstrap: { name: 'example-baseline', version: '3', script: `#!/bin/sh\nset -eu\necho "\${HOME}" ''x\n` },
};

/** By name. All renderers and their tests use these. */
export const SAMPLE_PLANS = {
  controlPlane: ofRack(1, NODE01, '10.0.100.50'),
  secondControlPlane: ofRack(2, NODE02, '10.0.100.51'),
  thirdControlPlane: ofRack(3, NODE03, '10.0.100.52'),
  worker: ofRack(4, NODE04, '10.0.100.60'),
  bonded,
  allInOne,
  lvm: {
    ...alone('lvm01', 13),
    storage: storage({
      layout: 'lvm',
      disks: [byId('ata-DISK_A'), byId('ata-DISK_B')],
      filesystem: 'xfs',
      swapMegabytes: 2048,
    }),
  },
  luks: { ...alone('luks01', 14), storage: storage({ layout: 'luks', swapMegabytes: 2048 }) },
  /** Its disk is only known after an inspection. */
  uninspected: {
    ...alone('cold01', 15),
    storage: storage({ disks: [{ ...ANY_DISK, minBytes: 400_000_000_000, rotational: false }] }),
  },
  /** No domain, no gateway, no accounts, nothing. */
  bare: {
    ...alone('bare01', 16),
    domain: null,
    fqdn: 'bare01',
    site: null,
    region: null,
    gateway: null,
    nameservers: [],
    searchDomains: [],
    accounts: [],
    ntpServers: [],
    packages: [],
    kernelParameters: [],
    links: [
      {
        ...ethernet('eno1', '10.0.100.71', '52:54:00:12:37:01', 'provisioning'),
        mac: null,
        network: null,
        address: 'dhcp',
      },
    ],
  },
  /** Not NixOS: its image has its own disk layout. */
  debian: {
    ...alone('node05', 17),
    profile: {
      name: named('debian-12'),
      kind: 'cloud-image',
      role: null,
      image: {
        source: 'images/debian-12-generic-amd64.raw.zst',
        sha256: 'c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00c0ffee00',
        format: 'zstd',
      },
    },
    links: [
      ethernet('eth0', '10.0.100.65', '52:54:00:12:34:5a', 'provisioning'),
      ethernet('eth1', '10.0.200.21', '52:54:00:22:34:5a', 'production'),
    ],
    storage: null,
  },
} as const satisfies Record<string, NodePlan>;

export const NIXOS_SAMPLES: readonly NodePlan[] = Object.values(SAMPLE_PLANS).filter(
  ({ profile }) => profile.kind === 'nixos',
);
/** Those whose disks are known without an inspection. */
export const RESOLVED = NIXOS_SAMPLES.filter(({ hostname }) => hostname !== SAMPLE_PLANS.uninspected.hostname);
