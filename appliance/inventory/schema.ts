// The schema of an inventory file. It also checks requests and the inventory sections of coldiron.yaml.
// It validates the structure; the domain's parsers validate MAC addresses, prefixes and other scalars afterwards.

import { type Static, Type } from 'typebox';
import { CPU_ARCHITECTURES } from '../domain/architecture.ts';
import { CABLING_POLICIES } from '../domain/cabling.ts';
import { HARDWARE_POLICIES, PROFILE_KINDS } from '../domain/catalogue.ts';
import { REQUIRED_IDENTITIES } from '../domain/hardware-identity.ts';
import { BMC_DRIVERS, ENROLLMENT_MODES } from '../domain/machine.ts';
import { BMC_MODES, DHCP_MODES, NETWORK_PURPOSES, UNKNOWN_POLICIES } from '../domain/network.ts';
import {
  Accounts,
  BondSection,
  BootstrapSection,
  closed,
  hostOrAddress,
  ImageSection,
  InterfaceSection,
  interfaceName,
  KernelParameters,
  matching,
  mtu,
  OnboardingSection,
  Packages,
  printable,
  RoceSection,
  RouteSection,
  SiteOnboardingSection,
  StorageSection,
  TimeServers,
  userName,
  VlanSection,
  word,
} from './schema-parts.ts';

const SiteSection = Type.Object(
  {
    name: word(),
    domain: Type.Optional(word()),
    region: Type.Optional(printable(100)),
    bmc_mode: Type.Optional(Type.Enum([...BMC_MODES])),
    api_url: Type.Optional(word()),
    ntp: Type.Optional(TimeServers),
    timezone: Type.Optional(word()),
    accounts: Type.Optional(Accounts),
    bootstrap: Type.Optional(BootstrapSection),
    inside: Type.Optional(Type.Array(word())),
    onboarding: Type.Optional(SiteOnboardingSection),
    release_without_erase: Type.Optional(Type.Boolean()),
  },
  closed,
);

const NetworkSection = Type.Object(
  {
    name: word(),
    site: Type.Optional(word()),
    prefix: word(),
    vlan: Type.Optional(Type.Integer({ minimum: 1, maximum: 4094 })),
    gateway: Type.Optional(word()),
    dns: Type.Optional(Type.Array(word())),
    domain: Type.Optional(word()),
    pools: Type.Optional(Type.Array(Type.Object({ from: word(), to: word() }, closed))),
    server: Type.Optional(word()),
    interface: Type.Optional(interfaceName()),
    dhcp: Type.Optional(Type.Enum([...DHCP_MODES])),
    unknown: Type.Optional(Type.Enum([...UNKNOWN_POLICIES])),
    efi_loader: Type.Optional(Type.Enum(['ipxe', 'snponly'])),
    secure_boot: Type.Optional(Type.Boolean()),
    mtu: Type.Optional(mtu()),
    routes: Type.Optional(Type.Array(RouteSection)),
    purpose: Type.Optional(Type.Enum([...NETWORK_PURPOSES])),
  },
  closed,
);

const SkuSection = Type.Object(
  {
    name: word(),
    description: Type.Optional(Type.String({ maxLength: 1000 })),
    active: Type.Optional(Type.Boolean()),
    architecture: Type.Enum([...CPU_ARCHITECTURES]),
    gpus: Type.Optional(Type.Integer({ minimum: 0, maximum: 1024 })),
    regions: Type.Optional(Type.Array(printable(100))),
    owner: Type.Optional(printable(100)),
    minimum: Type.Optional(
      Type.Object(
        {
          cores: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
          threads: Type.Optional(Type.Integer({ minimum: 1, maximum: 100_000 })),
          memory: Type.Optional(word()),
          disks: Type.Optional(Type.Integer({ minimum: 1, maximum: 512 })),
          disk_size: Type.Optional(word()),
          nics: Type.Optional(Type.Integer({ minimum: 1, maximum: 256 })),
          nic_mbps: Type.Optional(Type.Integer({ minimum: 10, maximum: 10_000_000 })),
        },
        closed,
      ),
    ),
    hardware: Type.Optional(Type.Enum([...HARDWARE_POLICIES])),
  },
  closed,
);

const ProfileSection = Type.Object(
  {
    name: word(),
    kind: Type.Enum([...PROFILE_KINDS]),
    description: Type.Optional(Type.String({ maxLength: 1000 })),
    active: Type.Optional(Type.Boolean()),
    architectures: Type.Optional(Type.Array(Type.Enum([...CPU_ARCHITECTURES]), { minItems: 1 })),
    skus: Type.Optional(Type.Array(word())),
    role: Type.Optional(Type.Enum(['control-plane', 'worker', 'all-in-one'])),
    deploy_minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 1440 })),
    storage: Type.Optional(StorageSection),
    image: Type.Optional(ImageSection),
    packages: Type.Optional(Packages),
    kernel_parameters: Type.Optional(KernelParameters),
    timezone: Type.Optional(word()),
    locale: Type.Optional(
      matching('^(C|[a-z]{2,3}_[A-Z]{2})\\.UTF-8(@[a-z]{1,12})?$', 'a UTF-8 locale like en_US.UTF-8 or C.UTF-8'),
    ),
    keyboard: Type.Optional(matching('^[a-z]{2,3}([-_][a-z0-9_-]{1,30})?$', 'a keyboard layout like us or de-latin1')),
    state_version: Type.Optional(matching('^[0-9]{2}\\.(05|11)$', 'a release of NixOS like 24.11')),
    install: Type.Optional(Type.Enum(['pull', 'push'])),
    secrets: Type.Optional(Type.Enum(['files', 'sops'])),
    roce: Type.Optional(Type.Boolean()),
    enrollment: Type.Optional(Type.Enum([...ENROLLMENT_MODES])),
    identity: Type.Optional(Type.Enum([...REQUIRED_IDENTITIES])),
    required_pcrs: Type.Optional(
      Type.Array(Type.Integer({ minimum: 0, maximum: 7 }), { maxItems: 8, uniqueItems: true }),
    ),
    cabling: Type.Optional(Type.Enum([...CABLING_POLICIES])),
    accounts: Type.Optional(Accounts),
    bootstrap: Type.Optional(BootstrapSection),
    onboarding: Type.Optional(OnboardingSection),
  },
  closed,
);

const ClusterSection = Type.Object(
  {
    name: word(),
    site: Type.Optional(word()),
    domain: Type.Optional(word()),
    network: word(),
    bootstrap: Type.Optional(Type.Array(word())),
    vip: Type.Optional(word()),
  },
  closed,
);

const BmcSection = Type.Object(
  {
    address: word(),
    driver: Type.Optional(Type.Enum([...BMC_DRIVERS])),
    username: Type.Optional(printable(64)),
    // The appliance reads it, and a relative path would have no obvious base folder.
    password_file: Type.Optional(matching('^/[\\x20-\\x7e]{1,1000}$', 'an absolute path on the appliance')),
  },
  closed,
);

const AccessSection = Type.Object(
  {
    host: hostOrAddress(),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65535 })),
    ssh_username: userName(),
    ssh_public_key: matching('^(ssh|ecdsa|sk)-[\\x21-\\x7e]+ [\\x20-\\x7e]{1,2000}$', 'an OpenSSH public key'),
  },
  closed,
);

const NodeSection = Type.Object(
  {
    name: word(),
    site: Type.Optional(word()),
    sku: word(),
    profile: Type.Optional(word()),
    cluster: Type.Optional(word()),
    architecture: Type.Optional(Type.Enum([...CPU_ARCHITECTURES])),
    uuid: Type.Optional(word()),
    tpm: Type.Optional(Type.Array(word(), { maxItems: 8 })),
    serial: Type.Optional(printable(100)),
    secure_boot: Type.Optional(Type.Boolean()),
    plain_pxe: Type.Optional(Type.Boolean()),
    gpus: Type.Optional(Type.Integer({ minimum: 0, maximum: 1024 })),
    region: Type.Optional(printable(100)),
    interfaces: Type.Optional(Type.Array(InterfaceSection)),
    bonds: Type.Optional(Type.Array(BondSection)),
    vlans: Type.Optional(Type.Array(VlanSection)),
    bmc: Type.Optional(BmcSection),
    access: Type.Optional(AccessSection),
    enrollment: Type.Optional(Type.Enum([...ENROLLMENT_MODES])),
    // The old name of `enrollment`.
    onboarding: Type.Optional(Type.Enum(['manual', 'maas'])),
    storage: Type.Optional(StorageSection),
    accounts: Type.Optional(Accounts),
    packages: Type.Optional(Packages),
    labels: Type.Optional(
      Type.Record(
        Type.String({ pattern: '^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$' }),
        Type.String({ pattern: '^[\\x20-\\x7e]{0,255}$', description: 'printable ASCII, at most 255 characters' }),
        closed,
      ),
    ),
  },
  closed,
);

/** The sections by name; coldiron.yaml may contain them next to its own keys. */
export const INVENTORY_SECTIONS = {
  sites: Type.Optional(Type.Array(SiteSection)),
  networks: Type.Optional(Type.Array(NetworkSection)),
  skus: Type.Optional(Type.Array(SkuSection)),
  profiles: Type.Optional(Type.Array(ProfileSection)),
  clusters: Type.Optional(Type.Array(ClusterSection)),
  roce: Type.Optional(Type.Array(RoceSection)),
  nodes: Type.Optional(Type.Array(NodeSection)),
};

export const InventoryDocument = Type.Object(INVENTORY_SECTIONS, closed);

export type InventoryDocument = Static<typeof InventoryDocument>;
export type SectionName = keyof typeof INVENTORY_SECTIONS;
export type SiteSection = Static<typeof SiteSection>;
export type NetworkSection = Static<typeof NetworkSection>;
export type SkuSection = Static<typeof SkuSection>;
export type ProfileSection = Static<typeof ProfileSection>;
export type ClusterSection = Static<typeof ClusterSection>;
export type NodeSection = Static<typeof NodeSection>;
