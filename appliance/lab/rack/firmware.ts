// Kinds of machine, by how their firmware boots from the network, as arguments of QEMU. Always emulated (TCG): an existing
// /dev/kvm may not work, and a boot takes seconds either way.

import { ColdironError } from '../../domain/errors.ts';

export const FIRMWARE_KINDS = [
  'bios-ipxe-rom', // SeaBIOS; the card's own ROM is iPXE
  'bios-first-stage', // the same, disguised as a ROM that is not iPXE
  'uefi-pxe', // OVMF's own PXE stack
  'uefi-ipxe-rom', // OVMF; the card's own ROM is iPXE
  'uefi-http', // OVMF with PXE off: HTTP Boot
  'uefi-secureboot', // OVMF that starts only programs signed with Microsoft's keys
  'arm64-uefi', // AAVMF's own PXE stack
] as const;
export type FirmwareKind = (typeof FIRMWARE_KINDS)[number];

export interface VirtualMachineSpec {
  readonly firmware: FirmwareKind;
  readonly mac: string;
  readonly uuid: string;
  /** In MiB; by default what the kind needs to boot the reporter. */
  readonly memory?: number;
  readonly disk?: MachineDisk;
  /** What the firmware tries first; by default the network. */
  readonly first?: BootOrder;
  /** MAC addresses of further cards, which are not boot devices. */
  readonly moreCards?: readonly string[];
  /** Printed on the machine's label, and in its SMBIOS. */
  readonly serial?: string;
  /** Of the firmware, in its SMBIOS; by default QEMU's. */
  readonly firmwareVersion?: string;
  /** What its clock shows at power-on, such as `2020-01-01`; by default the time. */
  readonly clock?: string;
  /** UEFI machines also try PXE over IPv6, which takes a minute without a server. */
  readonly pxeOverIpv6?: boolean;
}

export type BootOrder = 'network' | 'disk';

export type MachineDisk =
  | {
      readonly kind: 'image';
      readonly file: string;
      readonly readOnly?: boolean;
      /** The machine sees only this many bytes at the start of the image, a multiple of 512. */
      readonly shownBytes?: number;
    }
  /** The machine sees it as a disk with one FAT partition. */
  | { readonly kind: 'folder'; readonly path: string };

/** How QEMU reaches a machine's TPM. */
export type TpmBackend =
  /** The control socket of swtpm. */
  | { readonly kind: 'emulator'; readonly socket: string }
  /** A file descriptor that QEMU inherits, and uses like a TPM device of the host. */
  | { readonly kind: 'inherited'; readonly fd: number };

interface Firmware {
  readonly program: string;
  readonly cpu: string;
  readonly memory: number;
  /** Code and initial variables; null: SeaBIOS, which QEMU includes. */
  readonly flash: { readonly code: string; readonly variables: string } | null;
  readonly board: readonly string[];
  readonly ipxeRom: boolean;
  readonly tpmDevice: string;
}

const OVMF = { code: '/usr/share/OVMF/OVMF_CODE_4M.fd', variables: '/usr/share/OVMF/OVMF_VARS_4M.fd' };
const OVMF_WITH_KEYS = {
  code: '/usr/share/OVMF/OVMF_CODE_4M.secboot.fd',
  variables: '/usr/share/OVMF/OVMF_VARS_4M.ms.fd',
};
const AAVMF = { code: '/usr/share/AAVMF/AAVMF_CODE.fd', variables: '/usr/share/AAVMF/AAVMF_VARS.fd' };

const X86 = { program: 'qemu-system-x86_64', cpu: 'qemu64', memory: 256, tpmDevice: 'tpm-tis' };
// graphics=off sends the output of SeaBIOS and iPXE to the serial line.
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
    tpmDevice: 'tpm-tis-device',
  },
};

/** The Debian packages for machines of all kinds and their network. */
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

/** The initial variables file of this kind; null: it has none. */
export const newVariablesOf = (kind: FirmwareKind): string | null => FIRMWARE[kind].flash?.variables ?? null;

export interface MachinePlace {
  readonly tap: string;
  /** The machine's own copy of its firmware's variables. */
  readonly variables: string | null;
  /** One for each further card. */
  readonly moreTaps?: readonly string[];
  /** A listening socket, over which QEMU takes commands (QMP). */
  readonly control?: string;
  /** The BMC's port in the machine's own network namespace; the operating system reaches the BMC through KCS. */
  readonly inBandBmcPort?: number;
  readonly tpm?: TpmBackend;
}

/**
 * QEMU keeps translated code across a reset, up to a gibibyte by default, and searches it for every byte that is
 * overwritten: programs of a system that ran for minutes, at a new address each time. The next system then starts so
 * slowly that it seems to hang, in its loader or its first second. A smaller buffer evicts old translations in time.
 */
const ACCELERATION = 'tcg,thread=multi,tb-size=128';

/** QEMU's id of the disk. */
export const DISK = 'd0';

/** QEMU's id of the boot card. */
export const BOOT_CARD = 'card0';

/** The card precedes or follows the disk, which has index 2. */
export const bootIndexOf = (first: BootOrder): number => (first === 'network' ? 1 : 3);

export function qemuCommand(spec: VirtualMachineSpec, place: MachinePlace): readonly [string, ...string[]] {
  checkValues(spec);
  const { tap, variables, moreTaps = [], control, inBandBmcPort, tpm } = place;
  const { program, cpu, memory, flash, board, ipxeRom, tpmDevice } = FIRMWARE[spec.firmware];
  const skipIpv6 = flash !== null && !spec.pxeOverIpv6;
  return [
    program,
    ...board,
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-serial', 'stdio'],
    ...['-accel', ACCELERATION, '-cpu', cpu, '-smp', '1', '-m', String(spec.memory ?? memory)],
    ...['-uuid', spec.uuid],
    ...(spec.clock === undefined ? [] : ['-rtc', `base=${spec.clock}`]),
    ...(spec.serial === undefined ? [] : ['-smbios', `type=1,manufacturer=Coldiron,serial=${spec.serial}`]),
    ...(spec.firmwareVersion === undefined ? [] : ['-smbios', `type=0,version=${spec.firmwareVersion}`]),
    ...(flash === null || variables === null ? [] : flashDrives(flash.code, variables)),
    ...(skipIpv6 ? WITHOUT_PXE6 : []),
    ...['-netdev', `tap,id=n0,ifname=${tap},script=no,downscript=no`],
    // An empty romfile removes iPXE from the card, so that the firmware uses its own driver and stack.
    ...[
      '-device',
      `virtio-net-pci,netdev=n0,id=${BOOT_CARD},mac=${spec.mac}${ipxeRom ? '' : ',romfile='},bootindex=${bootIndexOf(spec.first ?? 'network')}`,
    ],
    ...moreTaps.flatMap((name, index) => furtherCard(name, spec.moreCards?.[index], index + 1)),
    ...(spec.disk ? diskDrive(spec.disk) : []),
    ...(control === undefined ? [] : controlSocket(control)),
    ...(inBandBmcPort === undefined ? [] : inBandBmc(inBandBmcPort)),
    ...(tpm === undefined ? [] : [...tpmBackend(tpm), '-device', `${tpmDevice},tpmdev=tpm0`]),
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

/** OpenIPMI's simulator is at the other end; QEMU reconnects when it was gone. */
const inBandBmc = (port: number): string[] => [
  ...['-chardev', `socket,id=bmc0,host=127.0.0.1,port=${port},reconnect=1`],
  ...['-device', 'ipmi-bmc-extern,id=bmc1,chardev=bmc0', '-device', 'isa-ipmi-kcs,bmc=bmc1,irq=5'],
];

/** Without a cancel file of its own, QEMU would look for the one of a real TPM. */
const tpmBackend = (tpm: TpmBackend): string[] =>
  tpm.kind === 'emulator'
    ? ['-chardev', `socket,id=tpm1,path=${tpm.socket}`, '-tpmdev', 'emulator,id=tpm0,chardev=tpm1']
    : [
        ...['-add-fd', `fd=${tpm.fd},set=1`],
        ...['-tpmdev', 'passthrough,id=tpm0,path=/dev/fdset/1,cancel-path=/dev/null'],
      ];

/** The network stacks of OVMF and AAVMF need a source of randomness. */
const flashDrives = (code: string, variables: string): string[] => [
  ...['-drive', `if=pflash,unit=0,format=raw,readonly=on,file=${code}`],
  ...['-drive', `if=pflash,unit=1,format=raw,file=${variables}`],
  ...['-object', 'rng-random,id=rng0,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng0'],
];

const diskDrive = (disk: MachineDisk): string[] => {
  const file = disk.kind === 'image' ? disk.file : `fat:${disk.path}`;
  const { readOnly = false, shownBytes } = disk.kind === 'image' ? disk : { readOnly: true };
  // Discarded blocks are freed in the file too: erasing is fast, and an erased disk takes no space.
  const access = readOnly ? 'readonly=on' : 'cache=unsafe,discard=unmap';
  const size = shownBytes === undefined ? '' : `,size=${shownBytes}`;
  return [
    ...['-drive', `if=none,id=${DISK},format=raw,file=${file},${access}${size}`],
    ...['-device', `virtio-blk-pci,drive=${DISK},bootindex=2`],
  ];
};

/** A comma would start another QEMU option. */
function checkValues({ mac, moreCards = [], uuid, serial = '', disk }: VirtualMachineSpec): void {
  const path = disk?.kind === 'image' ? disk.file : (disk?.path ?? '');
  for (const address of [mac, ...moreCards]) {
    if (!/^[0-9a-f]{2}(:[0-9a-f]{2}){5}$/.test(address))
      throw new ColdironError('usage', `not a MAC address: ${address}`);
  }
  if (!/^[\w. -]*$/.test(serial)) throw new ColdironError('usage', `not a serial number: ${serial}`);
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(uuid))
    throw new ColdironError('usage', `not a UUID: ${uuid}`);
  if (/[,:]/.test(path))
    throw new ColdironError('usage', `QEMU does not accept a path with a comma or a colon: ${path}`);
}
