// The contents of the service OS: Debian packages, the programs taken from them, and kernel modules.

import type { CpuArchitecture } from '../../domain/architecture.ts';

/** Debian's architecture names, because the packages are Debian's. */
export type ServiceOsArchitecture = 'amd64' | 'arm64';

/** The architectures it is built for. */
export const SERVICE_OS_BUILDS: readonly {
  readonly cpu: CpuArchitecture;
  readonly architecture: ServiceOsArchitecture;
}[] = [
  { cpu: 'x86_64', architecture: 'amd64' },
  { cpu: 'arm64', architecture: 'arm64' },
];

export const serviceOsName = (cpu: CpuArchitecture): string => `images/service-os-${cpu}`;

/** Folders of the library; boot scripts refer to their files. */
export const SERVICE_OS_NAMES: readonly string[] = SERVICE_OS_BUILDS.map(({ cpu }) => serviceOsName(cpu));

/** Where Debian installs libraries of the architecture, and where the dynamic loader looks for them. */
export const LIBRARY_FOLDER: Readonly<Record<ServiceOsArchitecture, string>> = {
  amd64: 'lib/x86_64-linux-gnu',
  arm64: 'lib/aarch64-linux-gnu',
};

export const PACKAGES: readonly string[] = [
  'busybox-static',
  'coreutils',
  'curl',
  'dash',
  'dmidecode',
  'dropbear-bin',
  'e2fsprogs',
  'efibootmgr',
  'ethtool',
  'fdisk',
  'iproute2',
  'ipmitool',
  'jq',
  'memtester',
  'nvme-cli',
  'openssh-sftp-server',
  'openssl',
  'smartmontools',
  'tcpdump',
  'tpm2-tools',
  'util-linux',
  'xfsprogs',
  'xxhash',
  'zstd',
];

export interface Program {
  /** Path in its package. */
  readonly from: string;
  /** Path in the service OS; /usr/bin precedes busybox's /bin in its PATH. */
  readonly to: string;
}

const tool = (from: string): Program => ({ from, to: `usr/bin/${from.split('/').at(-1)}` });

export const PROGRAMS: readonly Program[] = [
  { from: 'bin/busybox', to: 'bin/busybox' },
  // Busybox's shell prefers its own applets to programs in PATH.
  { from: 'bin/dash', to: 'bin/dash' },
  ...['bin/dd', 'usr/bin/sha256sum', 'usr/bin/tee'].map(tool),
  ...['usr/bin/curl', 'usr/bin/jq', 'usr/bin/zstd', 'usr/bin/xxhsum', 'usr/bin/tcpdump', 'usr/bin/ipmitool'].map(tool),
  ...['bin/ip', 'sbin/ethtool', 'usr/sbin/dmidecode', 'usr/sbin/memtester', 'bin/efibootmgr'].map(tool),
  ...['bin/lsblk', 'sbin/blkid', 'sbin/blkdiscard', 'sbin/blockdev', 'sbin/wipefs', 'sbin/sfdisk'].map(tool),
  tool('usr/bin/partx'),
  ...['sbin/e2fsck', 'sbin/resize2fs', 'usr/sbin/xfs_growfs', 'usr/sbin/nvme', 'usr/sbin/smartctl'].map(tool),
  // All tools of tpm2-tools are this one program.
  ...['usr/bin/openssl', 'usr/bin/tpm2'].map(tool),
  ...['usr/sbin/dropbear', 'usr/bin/dropbearkey'].map(tool),
  // The path where dropbear looks for it.
  { from: 'usr/lib/openssh/sftp-server', to: 'usr/lib/sftp-server' },
];

/** Loaded by name at run time, so no program declares them: glibc needs the first to end a thread, tpm2 the second to reach /dev/tpmrm0. */
export const MORE_LIBRARIES: readonly string[] = ['libgcc_s.so.1', 'libtss2-tcti-device.so.0'];

/** Below the kernel's module folder: a folder with its contents, or one module. Dependencies are added. */
export const MODULES: readonly string[] = [
  'arch/x86/crypto/crc32c-intel.ko',
  'arch/arm64/crypto/crct10dif-ce.ko',
  'crypto/crc32c_generic.ko',
  'crypto/crct10dif_generic.ko',
  'crypto/xxhash_generic.ko',
  'crypto/blake2b_generic.ko',
  'drivers/ata',
  'drivers/block/virtio_blk.ko',
  'drivers/char/hw_random/virtio-rng.ko',
  'drivers/char/ipmi',
  'drivers/char/tpm',
  'drivers/hid/hid-generic.ko',
  'drivers/hid/usbhid',
  'drivers/message/fusion',
  'drivers/mmc/core',
  'drivers/mmc/host',
  'drivers/net/bonding',
  'drivers/net/ethernet',
  'drivers/net/mdio',
  'drivers/net/phy',
  'drivers/net/virtio_net.ko',
  'drivers/net/vmxnet3',
  'drivers/nvme/host',
  'drivers/scsi',
  // A TPM may be attached to it.
  'drivers/spi',
  'drivers/usb/host',
  'drivers/usb/storage',
  'drivers/virtio',
  'fs/btrfs',
  'fs/efivarfs',
  'fs/ext4',
  'fs/fat',
  'fs/isofs',
  'fs/nls/nls_ascii.ko',
  'fs/nls/nls_cp437.ko',
  'fs/nls/nls_iso8859-1.ko',
  'fs/nls/nls_utf8.ko',
  'fs/xfs',
  'net/8021q',
];

/** Excludes drivers for hardware that servers do not have, that none of our tools use, or that must not be touched. */
export const WITHOUT: readonly RegExp[] = [
  // Network storage is shared with other machines; a disk without a driver can be neither chosen nor erased.
  /\/(?:be2iscsi|bfa|bnx2fc|bnx2i|cnic|csiostor|cxgbi|fcoe|fnic|lpfc|qedf|qedi|qla2xxx|qla4xxx|snic)\b/,
  /\/(?:iscsi_[a-z_]+|libfc|libiscsi|libiscsi_tcp|nvme-fc|nvme-rdma|nvme-tcp|scsi_transport_(?:fc|iscsi|srp))\.ko/,
  // Tapes, parallel ATA and parallel SCSI.
  /\/(?:advansys|aic79xx|aic7xxx|aic94xx|ch|mptctl|mptfc|mptlan|pata_[a-z0-9_-]+|pcmcia|st)\b/,
  // Discontinued adapters, and switch chips.
  /\/drivers\/net\/ethernet\/(?:3com|8390|agere|alteon|amd\/pcnet|brocade|dec|dlink|fealnx|natsemi|neterion|packetengines|rdc|silan|sis|smsc|sun|tehuti|via|xircom)\b/,
  /\/drivers\/net\/ethernet\/(?:cavium\/liquidio|chelsio\/cxgb3?|mellanox\/mlxsw|marvell\/prestera|microchip\/(?:lan966x|sparx5)|mscc|qlogic\/(?:netxen|qlcnic)|sfc\/(?:falcon|siena))\//,
  // Simulated disks, and adapters for the parallel port.
  /\/drivers\/(?:scsi\/scsi_debug|spi\/spi-(?:butterfly|lm70llp))\b/,
  // Card readers and tablets.
  /\/drivers\/(?:mmc\/host\/(?:rtsx|ushc|vub300)|usb\/host\/(?:u132-hcd|xhci-tegra))/,
];
