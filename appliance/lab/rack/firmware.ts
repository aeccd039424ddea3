// Kinds of machine, by how their firmware comes to the network, as arguments of QEMU. Always emulated (TCG): a /dev/kvm that
// exists need not work, and a boot takes seconds either way.

import { ColdironError } from '../../domain/errors.ts';

export const FIRMWARE_KINDS = [
  'bios-ipxe-rom', // SeaBIOS; the card's own ROM is iPXE
  'bios-first-stage', // the same, disguised as a ROM that is not iPXE
  'uefi-pxe', // OVMF's own PXE stack
  'uefi-ipxe-rom', // OVMF; the card's own ROM is iPXE
  'uefi-http', // OVMF with PXE off: HTTP Boot
  'uefi-secureboot', // OVMF that starts only what Microsoft's keys vouch for
  'arm64-uefi', // AAVMF's own PXE stack
] as const;
export type FirmwareKind = (typeof FIRMWARE_KINDS)[number];

export interface MachineSpec {
  readonly firmware: FirmwareKind;
  readonly mac: string;
  readonly uuid: string;
  /** In MiB; what the kind needs to boot the reporter, unless told otherwise. */
  readonly memory?: number;
  readonly disk?: MachineDisk;
  /** What the firmware tries first; the network, unless told otherwise. */
  readonly first?: BootOrder;
  /** MAC addresses of further cards, which the machine does not boot from. */
  readonly moreCards?: readonly string[];
  /** On the machine's label, and in its SMBIOS. */
  readonly serial?: string;
  /** UEFI machines try PXE over IPv6 as well, which takes a minute where nobody answers. */
  readonly pxeOverIpv6?: boolean;
}

export type BootOrder = 'network' | 'disk';

export type MachineDisk =
  | {
      readonly kind: 'image';
      readonly file: string;
      readonly readOnly?: boolean;
      /** The machine sees no more than the first bytes of the image, a multiple of 512. */
      readonly shownBytes?: number;
    }
  /** Shown to the machine as a disk with one FAT partition. */
  | { readonly kind: 'folder'; readonly path: string };

interface Firmware {
  readonly program: string;
  readonly cpu: string;
  readonly memory: number;
  /** Code and the variables that it starts with; null: SeaBIOS, which QEMU brings. */
  readonly flash: { readonly code: string; readonly variables: string } | null;
  readonly board: readonly string[];
  readonly ipxeRom: boolean;
}

const OVMF = { code: '/usr/share/OVMF/OVMF_CODE_4M.fd', variables: '/usr/share/OVMF/OVMF_VARS_4M.fd' };
const OVMF_WITH_KEYS = {
  code: '/usr/share/OVMF/OVMF_CODE_4M.secboot.fd',
  variables: '/usr/share/OVMF/OVMF_VARS_4M.ms.fd',
};
const AAVMF = { code: '/usr/share/AAVMF/AAVMF_CODE.fd', variables: '/usr/share/AAVMF/AAVMF_VARS.fd' };

const X86 = { program: 'qemu-system-x86_64', cpu: 'qemu64', memory: 256 };
// graphics=off puts SeaBIOS and iPXE on the serial line.
const BIOS: Firmware = {
  ...X86,
  flash: null,
  board: ['-M', 'pc,graphics=off', '-vga', 'none', '-boot', 'n'],
  ipxeRom: true,
};
const UEFI: Firmware = { ...X86, flash: OVMF, board: ['-M', 'q35'], ipxeRom: false };
const WITHOUT_PXE4 = ['-fw_cfg', 'name=opt/org.tianocore/IPv4PXESupport,string=no'];
const WITHOUT_PXE6 = ['-fw_cfg', 'name=opt/org.tianocore/IPv6PXESupport,string=no'];

const FIRMWARE: Readonly<Record<FirmwareKind, Firmware>> = {
  'bios-ipxe-rom': BIOS,
  'bios-first-stage': BIOS,
  'uefi-pxe': UEFI,
  'uefi-ipxe-rom': { ...UEFI, ipxeRom: true },
  'uefi-http': { ...UEFI, board: [...UEFI.board, ...WITHOUT_PXE4] },
  'uefi-secureboot': {
    ...UEFI,
    cpu: 'max',
    memory: 768,
    flash: OVMF_WITH_KEYS,
    // Without system management mode the guest could write the variables that hold the keys.
    board: [
      ...['-M', 'q35,smm=on'],
      ...['-global', 'driver=cfi.pflash01,property=secure,value=on'],
      ...['-global', 'ICH9-LPC.disable_s3=1'],
    ],
  },
  'arm64-uefi': {
    program: 'qemu-system-aarch64',
    cpu: 'cortex-a57',
    memory: 512,
    flash: AAVMF,
    board: ['-M', 'virt'],
    ipxeRom: false,
  },
};

/** The Debian packages that machines of all kinds, and their network, are made of. */
export const RACK_PACKAGES: readonly string[] = [
  'iproute2',
  'ipxe-qemu',
  'nftables',
  'ovmf',
  'procps',
  'qemu-efi-aarch64',
  'qemu-system-arm',
  'qemu-system-x86',
];

/** The file that a machine of this kind keeps its settings in, as it is when new; null: it has none. */
export const newVariablesOf = (kind: FirmwareKind): string | null => FIRMWARE[kind].flash?.variables ?? null;

export interface MachinePlace {
  readonly tap: string;
  /** The machine's own copy of its firmware's variables. */
  readonly variables: string | null;
  /** One for each further card. */
  readonly moreTaps?: readonly string[];
  /** A socket that somebody listens on: QEMU takes its orders there (QMP). */
  readonly control?: string;
  /** Of the BMC, in the machine's own network namespace: the operating system reaches it through KCS. */
  readonly inBandBmcPort?: number;
}

/**
 * What QEMU has translated it keeps over a reset, up to a gibibyte unless told otherwise, and searches for every byte that is
 * written over it: programs of a system that ran for minutes, at a new address each time. The next system then starts so
 * slowly that it seems to hang, in its loader or its first second. With room for less, old translations go in time.
 */
const ACCELERATION = 'tcg,thread=multi,tb-size=128';

/** What QEMU calls the card that the machine boots from. */
export const BOOT_CARD = 'card0';

/** The card before or behind the disk, which has 2. */
export const bootIndexOf = (first: BootOrder): number => (first === 'network' ? 1 : 3);

export function qemuCommand(spec: MachineSpec, place: MachinePlace): readonly [string, ...string[]] {
  checkWords(spec);
  const { tap, variables, moreTaps = [], control, inBandBmcPort } = place;
  const { program, cpu, memory, flash, board, ipxeRom } = FIRMWARE[spec.firmware];
  const skipIpv6 = flash !== null && !spec.pxeOverIpv6;
  return [
    program,
    ...board,
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-serial', 'stdio'],
    ...['-accel', ACCELERATION, '-cpu', cpu, '-smp', '1', '-m', String(spec.memory ?? memory)],
    ...['-uuid', spec.uuid],
    ...(spec.serial === undefined ? [] : ['-smbios', `type=1,manufacturer=Coldiron,serial=${spec.serial}`]),
    ...(flash === null || variables === null ? [] : flashDrives(flash.code, variables)),
    ...(skipIpv6 ? WITHOUT_PXE6 : []),
    ...['-netdev', `tap,id=n0,ifname=${tap},script=no,downscript=no`],
    // An empty romfile takes iPXE off the card, so that the firmware's own driver and stack are used.
    ...[
      '-device',
      `virtio-net-pci,netdev=n0,id=${BOOT_CARD},mac=${spec.mac}${ipxeRom ? '' : ',romfile='},bootindex=${bootIndexOf(spec.first ?? 'network')}`,
    ],
    ...moreTaps.flatMap((name, index) => furtherCard(name, spec.moreCards?.[index], index + 1)),
    ...(spec.disk ? diskDrive(spec.disk) : []),
    ...(control === undefined ? [] : controlSocket(control)),
    ...(inBandBmcPort === undefined ? [] : inBandBmc(inBandBmcPort)),
  ];
}

const furtherCard = (tap: string, mac: string | undefined, number: number): string[] => {
  if (mac === undefined) throw new ColdironError('usage', `the card on ${tap} has no MAC address`);
  return [
    ...['-netdev', `tap,id=n${number},ifname=${tap},script=no,downscript=no`],
    ...['-device', `virtio-net-pci,netdev=n${number},id=card${number},mac=${mac},romfile=`],
  ];
};

const controlSocket = (path: string): string[] => [
  ...['-chardev', `socket,id=control0,path=${path}`, '-mon', 'chardev=control0,mode=control'],
];

/** OpenIPMI's simulator at the other end; QEMU calls again when it was gone. */
const inBandBmc = (port: number): string[] => [
  ...['-chardev', `socket,id=bmc0,host=127.0.0.1,port=${port},reconnect=1`],
  ...['-device', 'ipmi-bmc-extern,id=bmc1,chardev=bmc0', '-device', 'isa-ipmi-kcs,bmc=bmc1,irq=5'],
];

/** OVMF's and AAVMF's network stacks want a source of randomness. */
const flashDrives = (code: string, variables: string): string[] => [
  ...['-drive', `if=pflash,unit=0,format=raw,readonly=on,file=${code}`],
  ...['-drive', `if=pflash,unit=1,format=raw,file=${variables}`],
  ...['-object', 'rng-random,id=rng0,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng0'],
];

const diskDrive = (disk: MachineDisk): string[] => {
  const file = disk.kind === 'image' ? disk.file : `fat:${disk.path}`;
  const { readOnly = false, shownBytes } = disk.kind === 'image' ? disk : { readOnly: true };
  // What a machine discards is gone from the file as well: erasing takes a moment, and an erased disk no room.
  const access = readOnly ? 'readonly=on' : 'cache=unsafe,discard=unmap';
  const size = shownBytes === undefined ? '' : `,size=${shownBytes}`;
  return [
    ...['-drive', `if=none,id=d0,format=raw,file=${file},${access}${size}`],
    ...['-device', 'virtio-blk-pci,drive=d0,bootindex=2'],
  ];
};

/** A comma would begin another option of QEMU's. */
function checkWords({ mac, moreCards = [], uuid, serial = '', disk }: MachineSpec): void {
  const path = disk?.kind === 'image' ? disk.file : (disk?.path ?? '');
  for (const address of [mac, ...moreCards]) {
    if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(address))
      throw new ColdironError('usage', `not a MAC address: ${address}`);
  }
  if (!/^[\w. -]*$/.test(serial)) throw new ColdironError('usage', `not a serial number: ${serial}`);
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid))
    throw new ColdironError('usage', `not a UUID: ${uuid}`);
  if (/[,:]/.test(path)) throw new ColdironError('usage', `QEMU cannot take a path with a comma or a colon: ${path}`);
}
