// Parts of the schema that several sections share. Where a pattern alone validates a value, its description completes the error
// message: "must be …".

import { type Static, Type } from 'typebox';
import { BMC_DRIVERS } from '../domain/machine.ts';
import { FAILURE_CLASSES, MAAS_ERASURES, MAAS_LAYOUTS, PROVIDERS } from '../domain/onboarding.ts';
import { BOND_MODES, DISK_LAYOUTS } from '../domain/system.ts';

export const closed = { additionalProperties: false } as const;

/** Parsed by the domain. The limit only prevents long quotes of a hostile file. */
export const word = () => Type.String({ maxLength: 300 });

/** `description` completes the error message: "must be …". */
export const matching = (pattern: string, description: string) => Type.String({ pattern, description });
export const printable = (length: number) =>
  matching(`^[\\x20-\\x7e]{1,${length}}$`, `printable ASCII, at most ${length} characters`);
export const interfaceName = () =>
  matching('^[A-Za-z0-9][A-Za-z0-9._@-]{0,14}$', 'an interface name like eth0, at most 15 characters');
export const userName = () => matching('^[a-z_][a-z0-9_-]{0,31}$', 'a user name');
export const hostOrAddress = () => matching('^[A-Za-z0-9]([A-Za-z0-9.-]{0,252})$', 'a host name or an address');

/** RFC 791 §3.2 requires every host to accept 576 bytes; IP over InfiniBand reaches 65520. */
export const mtu = () => Type.Integer({ minimum: 576, maximum: 65520 });

export const TimeServers = Type.Array(hostOrAddress());
export const Packages = Type.Array(
  matching('^[A-Za-z0-9][A-Za-z0-9.+_-]{0,127}$', 'the name of a package (letters, digits, ".", "+", "_", "-")'),
);
export const KernelParameters = Type.Array(
  matching(
    '^[\\x21\\x23-\\x26\\x28-\\x5b\\x5d-\\x7e]{1,200}$',
    'one parameter, without spaces, quotes and backslashes',
  ),
);

const AccountSection = Type.Object(
  {
    name: userName(),
    ssh_keys: Type.Array(Type.String({ maxLength: 4000 }), { minItems: 1 }),
    admin: Type.Optional(Type.Boolean()),
    sudo: Type.Optional(Type.Array(Type.String({ maxLength: 500 }), { minItems: 1 })),
    sudo_reviewed_by: Type.Optional(
      matching('^[A-Za-z0-9][A-Za-z0-9 ._@-]{0,63}$', 'the name of a person (letters, digits, space, "._@-")'),
    ),
  },
  closed,
);
export type AccountSection = Static<typeof AccountSection>;
export const Accounts = Type.Array(AccountSection);

const DiskSection = Type.Object(
  {
    by_id: Type.Optional(matching('^[A-Za-z0-9][A-Za-z0-9._:+@=-]{0,199}$', 'a name below /dev/disk/by-id')),
    serial: Type.Optional(printable(100)),
    model: Type.Optional(printable(100)),
    min_size: Type.Optional(word()),
    max_size: Type.Optional(word()),
    rotational: Type.Optional(Type.Boolean()),
  },
  closed,
);

export const StorageSection = Type.Object(
  {
    layout: Type.Optional(Type.Enum([...DISK_LAYOUTS])),
    disks: Type.Optional(Type.Array(DiskSection, { minItems: 1 })),
    filesystem: Type.Optional(Type.Enum(['ext4', 'xfs'])),
    swap: Type.Optional(word()),
  },
  closed,
);
export type StorageSection = Static<typeof StorageSection>;

export const ImageSection = Type.Object(
  {
    source: word(),
    sha256: matching('^[0-9a-f]{64}$', 'a SHA-256 sum, 64 lower-case hexadecimal digits'),
    format: Type.Optional(Type.Enum(['raw', 'gzip', 'zstd'])),
  },
  closed,
);
export type ImageSection = Static<typeof ImageSection>;

/** In a file, `script_file` references the script; reading the file replaces it with the text of the script. */
export const BootstrapSection = Type.Object(
  {
    name: word(),
    version: matching('^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$', 'a version like 1.4.2'),
    script: Type.Optional(Type.String({ maxLength: 65536 })),
    script_file: Type.Optional(matching('^[^\\0]{1,1000}$', 'a path')),
  },
  closed,
);
export type BootstrapSection = Static<typeof BootstrapSection>;

export const RouteSection = Type.Object({ to: word(), via: word() }, closed);

/** LLDP carries names of up to 255 bytes; real ones are short. */
const switchName = (example: string) =>
  matching(
    '^[\\x21-\\x7e]([\\x20-\\x7e]{0,98}[\\x21-\\x7e])?$',
    `a name like ${example}: printable ASCII, at most 100 characters`,
  );

const SwitchSection = Type.Object({ name: switchName('leaf-r12a'), port: switchName('Ethernet1/12') }, closed);

export const InterfaceSection = Type.Object(
  {
    name: interfaceName(),
    mac: Type.Optional(word()),
    network: word(),
    address: Type.Optional(word()),
    mtu: Type.Optional(mtu()),
    switch: Type.Optional(SwitchSection),
  },
  closed,
);
export type InterfaceSection = Static<typeof InterfaceSection>;

export const BondSection = Type.Object(
  {
    name: interfaceName(),
    mode: Type.Optional(Type.Enum([...BOND_MODES])),
    members: Type.Array(interfaceName(), { minItems: 1 }),
    network: Type.Optional(word()),
    address: Type.Optional(word()),
    mtu: Type.Optional(mtu()),
  },
  closed,
);

export const VlanSection = Type.Object(
  {
    name: interfaceName(),
    id: Type.Integer({ minimum: 1, maximum: 4094 }),
    parent: interfaceName(),
    network: Type.Optional(word()),
    address: Type.Optional(word()),
    mtu: Type.Optional(mtu()),
  },
  closed,
);

const RoceLinkSection = Type.Object(
  {
    name: interfaceName(),
    mac: Type.Optional(word()),
    address: word(),
    mtu: Type.Optional(mtu()),
    priority: Type.Optional(Type.Integer({ minimum: 0, maximum: 7 })),
  },
  closed,
);

export const RoceSection = Type.Object(
  { site: Type.Optional(word()), hostname: word(), links: Type.Array(RoceLinkSection, { minItems: 1 }) },
  closed,
);
export type RoceSection = Static<typeof RoceSection>;

const maasKeys = {
  enable_ssh: Type.Optional(Type.Boolean()),
  skip_bmc_config: Type.Optional(Type.Boolean()),
  distro_series: Type.Optional(
    matching('^[a-z0-9][a-z0-9._/-]{0,62}$', 'a release as MAAS names it, such as ubuntu/noble'),
  ),
  hwe_kernel: Type.Optional(matching('^[a-z0-9][a-z0-9._-]{0,62}$', 'a kernel as MAAS names it, such as ga-24.04')),
  storage_layout: Type.Optional(Type.Enum([...MAAS_LAYOUTS])),
  erase: Type.Optional(Type.Enum([...MAAS_ERASURES])),
  erase_minutes: Type.Optional(Type.Integer({ minimum: 5, maximum: 10_080 })),
};

const MaasSection = Type.Object(maasKeys, closed);

const onboardingKeys = {
  provider: Type.Optional(Type.Enum([...PROVIDERS])),
  maas: Type.Optional(MaasSection),
  adopt: Type.Optional(Type.Enum(['match', 'never'])),
  auto_claim: Type.Optional(Type.Boolean()),
  strict_pxe: Type.Optional(Type.Boolean()),
  retry: Type.Optional(Type.Array(Type.Enum([...FAILURE_CLASSES]), { maxItems: 10, uniqueItems: true })),
  retries: Type.Optional(Type.Integer({ minimum: 0, maximum: 5 })),
  hardware_sync: Type.Optional(Type.Boolean()),
  site_bootstrap: Type.Optional(Type.Enum(['optional', 'required'])),
  discovery_minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 240 })),
};

/** The BMC login of machines that only their BMC address is known of. */
const BmcLoginSection = Type.Object(
  {
    driver: Type.Optional(Type.Enum([...BMC_DRIVERS])),
    username: Type.Optional(printable(64)),
    password_file: Type.Optional(matching('^/[\\x20-\\x7e]{1,1000}$', 'an absolute path on the appliance')),
  },
  closed,
);

export const OnboardingSection = Type.Object(onboardingKeys, closed);
export const SiteOnboardingSection = Type.Object(
  {
    ...onboardingKeys,
    maas: Type.Optional(Type.Object({ ...maasKeys, profile: Type.Optional(word()) }, closed)),
    bmc: Type.Optional(BmcLoginSection),
    bmc_networks: Type.Optional(Type.Array(word())),
  },
  closed,
);
export type MaasSection = Static<typeof MaasSection>;
export type OnboardingSection = Static<typeof OnboardingSection>;
export type SiteOnboardingSection = Static<typeof SiteOnboardingSection>;
