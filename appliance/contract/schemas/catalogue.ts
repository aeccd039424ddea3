// Sites, networks, SKUs, profiles and clusters as the API shows them: the spelling of the inventory files.

import { Type } from 'typebox';
import { CPU_ARCHITECTURES } from '../../domain/architecture.ts';
import { CABLING_POLICIES } from '../../domain/cabling.ts';
import { HARDWARE_POLICIES, PROFILE_KINDS } from '../../domain/catalogue.ts';
import { REQUIRED_IDENTITIES } from '../../domain/hardware-identity.ts';
import { BMC_MODES, DHCP_MODES, UNKNOWN_POLICIES } from '../../domain/network.ts';
import { component, nullable } from './shared.ts';

const Text = nullable(Type.String());

const Count = nullable(Type.Integer());
const Architecture = Type.Enum([...CPU_ARCHITECTURES]);

export const Site = component(
  'Site',
  Type.Object({ name: Type.String(), domain: Text, region: Text, bmc_mode: Type.Enum([...BMC_MODES]) }),
);

export const Network = component(
  'Network',
  Type.Object({
    name: Type.String(),
    site: Type.String(),
    prefix: Type.String(),
    vlan: nullable(Type.Integer()),
    gateway: Text,
    dns: Type.Array(Type.String()),
    domain: Text,
    pools: Type.Array(Type.Object({ from: Type.String(), to: Type.String() })),
    server: Text,
    interface: Text,
    dhcp: Type.Enum([...DHCP_MODES]),
    unknown: Type.Enum([...UNKNOWN_POLICIES]),
    efi_loader: Type.Enum(['ipxe', 'snponly']),
    secure_boot: Type.Boolean(),
  }),
);

export const Sku = component(
  'Sku',
  Type.Object({
    name: Type.String(),
    description: Type.String(),
    active: Type.Boolean(),
    architecture: Architecture,
    gpus: Type.Integer(),
    regions: Type.Array(Type.String(), { description: 'Empty: every region' }),
    owner: Text,
    minimum: nullable(
      Type.Object(
        {
          cores: Count,
          threads: Count,
          memory_bytes: Count,
          disks: Count,
          disk_bytes: Count,
          nics: Count,
          nic_mbps: Count,
        },
        { description: 'What a machine of this SKU has at least' },
      ),
    ),
    hardware: Type.Enum([...HARDWARE_POLICIES], {
      description: 'A machine with less: require fails its commissioning, warn reports it',
    }),
  }),
);

export const Profile = component(
  'Profile',
  Type.Object({
    name: Type.String(),
    kind: Type.Enum([...PROFILE_KINDS]),
    description: Type.String(),
    active: Type.Boolean(),
    architectures: Type.Array(Architecture),
    skus: Type.Array(Type.String(), { description: 'Empty: every SKU' }),
    role: nullable(Type.Enum(['control-plane', 'worker', 'all-in-one'])),
    deploy_minutes: Type.Integer(),
    identity: Type.Enum([...REQUIRED_IDENTITIES], { description: 'What a machine must prove before it gets secrets' }),
    required_pcrs: Type.Array(Type.Integer(), { description: 'PCRs that must have the accepted values' }),
    cabling: Type.Enum([...CABLING_POLICIES], {
      description: '`require`: nothing is installed while a cable is not as declared',
    }),
  }),
);

export const Cluster = component(
  'Cluster',
  Type.Object({
    name: Type.String(),
    site: Type.String(),
    domain: Text,
    network: Type.String(),
    bootstrap: Type.Array(Type.String()),
    vip: Text,
  }),
);
