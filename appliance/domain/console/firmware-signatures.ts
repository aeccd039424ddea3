// What firmware prints: SeaBIOS, EDK II (OVMF and what vendors build from it), and PXE ROMs with their PXE-E codes.

import { atStage, type ConsoleSignature } from './signature.ts';

const SECURE_BOOT =
  'Boot a loader that is signed for this machine: shim from the distribution, with secure_boot: true for the node; or enroll the key in the firmware.';
const BOOT_ENTRIES = 'Check the boot order in the firmware setup, and whether the disk holds an installed system.';

const EDK2 = 'EDK II, OvmfPkg/Library/PlatformBmPrintScLib/StatusCodeHandler.c';
const SEABIOS = 'SeaBIOS, src/boot.c';

const screens: readonly ConsoleSignature[] = atStage('firmware', [
  {
    id: 'efi-secure-boot-refused',
    severity: 'error',
    has: 'BdsDxe: failed to',
    pattern: /BdsDxe: failed to (?:load|start) .{1,400}: (?:Access Denied|Security Violation)/,
    means: 'Secure Boot refuses the program that the firmware wants to start',
    advice: SECURE_BOOT,
    source: `${EDK2}; the status comes from SecurityPkg/Library/DxeImageVerificationLib`,
    example:
      'BdsDxe: failed to load Boot0002 "UEFI PXEv4 (MAC:525400770001)" from PciRoot(0x0)/Pci(0x2,0x0): Access Denied',
  },
  {
    id: 'efi-entry-failed',
    severity: 'note',
    has: 'BdsDxe: failed to',
    pattern: /BdsDxe: failed to (?:load|start) (.{1,300}): (?!Access Denied|Security Violation)([A-Z][\w ]{2,40})$/,
    means: 'a boot entry of the firmware cannot be started, so the firmware tries the next one',
    advice: BOOT_ENTRIES,
    source: EDK2,
    example: 'BdsDxe: failed to load Boot0001 "UEFI Misc Device" from PciRoot(0x0)/Pci(0x3,0x0): Not Found',
  },
  {
    id: 'efi-nothing-to-boot',
    severity: 'error',
    has: 'No bootable option or device was found',
    pattern: /BdsDxe: No bootable option or device was found/,
    means: 'the firmware has tried all boot entries, and none of them can be started',
    advice: BOOT_ENTRIES,
    source: EDK2,
    example: 'BdsDxe: No bootable option or device was found.',
  },
  {
    id: 'efi-http-boot-failed',
    severity: 'error',
    has: 'Could not retrieve NBP file size',
    pattern: /Error: Could not retrieve NBP file size from HTTP server/,
    means: 'HTTP Boot of the firmware gets no answer for its boot file',
    advice: 'Check that the machine reaches the boot address of the appliance over TCP: routing, firewall, VLAN.',
    source: 'EDK II, NetworkPkg/HttpBootDxe/HttpBootImpl.c, HttpBootLoadFile',
    example: '  Error: Could not retrieve NBP file size from HTTP server.',
  },
  {
    id: 'bios-nothing-to-boot',
    severity: 'error',
    has: 'No bootable device',
    pattern: /No bootable device\./,
    means: 'the BIOS has tried all boot devices, and none of them can be started',
    advice: BOOT_ENTRIES,
    source: `${SEABIOS}, boot_fail`,
    example: 'No bootable device.  Retrying in 60 seconds.',
  },
  {
    id: 'bios-disk-not-bootable',
    severity: 'note',
    has: 'Boot failed: ',
    pattern: /^Boot failed: (?:not a bootable disk|could not read the boot disk|Could not read from CDROM)/,
    means: 'the BIOS cannot start the disk, so it tries the next device',
    advice:
      'An empty disk is expected before an installation. After one, check which disk was written and the boot order.',
    source: `${SEABIOS}, boot_disk and boot_cdrom`,
    example: 'Boot failed: not a bootable disk',
  },
]);

type PxeCode = readonly [code: string, id: string, means: string, advice: string, text: string];

const CABLE = 'Check the cable, the switch port and its VLAN.';
const DHCP =
  'Check that DHCP answers reach this machine: VLAN, relay, spanning tree on the switch port. coldiron trail NODE shows its requests.';
const TFTP =
  'Check that UDP port 69 and the ports of transfers reach the appliance: firewall, and a path without a smaller MTU.';
const FILE = 'Check the boot files: coldiron assets verify, and coldiron explain NODE.';

/** The codes of the PXE 2.1 specification and of Intel's boot agent, which other ROMs and EDK II use too. */
const PXE_CODES: readonly PxeCode[] = [
  [
    'E05',
    'pxe-memory',
    'the PXE ROM has too little memory for the boot file',
    FILE,
    'Buffer size is smaller than the requested file.',
  ],
  [
    'E07',
    'pxe-card-error',
    'the network card reports an error',
    'Replace the card, or update its firmware.',
    'Network device error.',
  ],
  ['E09', 'pxe-memory', 'the PXE ROM has too little memory for the boot file', FILE, 'Unexpected network error.'],
  ['E11', 'pxe-arp-timeout', 'the boot server does not answer ARP requests', DHCP, 'ARP timeout'],
  ['E16', 'pxe-no-offer', 'no DHCP offer reached the PXE ROM', DHCP, 'No valid offer received.'],
  ['E18', 'pxe-server-timeout', 'the boot server does not answer the PXE ROM', TFTP, 'Server response timeout.'],
  [
    'E21',
    'pxe-cancelled',
    'somebody cancelled the network boot at the machine',
    'Start it again.',
    'Remote boot cancelled.',
  ],
  ['E23', 'pxe-tftp-error', 'the TFTP server refused the boot file', FILE, 'Client received TFTP error from server.'],
  ['E32', 'pxe-tftp-timeout', 'the TFTP server does not answer', TFTP, 'TFTP open timeout'],
  ['E35', 'pxe-tftp-read-timeout', 'a TFTP transfer stopped', TFTP, 'TFTP read timeout'],
  ['E36', 'pxe-tftp-error', 'the TFTP server refused the boot file', FILE, 'Error received from TFTP server'],
  ['E38', 'pxe-tftp-timeout', 'the TFTP server does not answer', TFTP, 'TFTP cannot open connection'],
  ['E3B', 'pxe-tftp-error', 'the TFTP server refused the boot file', FILE, 'TFTP Error - File Not found'],
  ['E51', 'pxe-no-offer', 'no DHCP offer reached the PXE ROM', DHCP, 'No DHCP or proxyDHCP offers were received.'],
  [
    'E52',
    'pxe-no-address',
    'a proxyDHCP server answered and no DHCP server did',
    DHCP,
    'proxyDHCP offers were received. No DHCP offers were received.',
  ],
  [
    'E53',
    'pxe-no-file-name',
    'the DHCP server that answered named no boot file',
    'Look for another DHCP server on this network. coldiron explain NODE shows what this machine is offered.',
    'No boot filename received.',
  ],
  [
    'E55',
    'pxe-proxy-silent',
    'the proxyDHCP server does not answer on port 4011',
    DHCP,
    'ProxyDHCP service did not reply to request on port 4011.',
  ],
  ['E61', 'pxe-no-link', 'the network card has no link', CABLE, 'Media test failure, check cable'],
  [
    'E74',
    'pxe-menu',
    'the answer of a DHCP server has a PXE menu that the ROM cannot use',
    'Set plain_pxe: true for the node, or look for another DHCP server.',
    'Bad or missing PXE menu and/or prompt information.',
  ],
  [
    'E78',
    'pxe-no-boot-server',
    'the PXE ROM finds no boot server',
    'Set plain_pxe: true for the node, or look for another DHCP server.',
    'Could not locate boot server.',
  ],
  [
    'E79',
    'pxe-memory',
    'the PXE ROM has too little memory for the boot file',
    FILE,
    'NBP is too big to fit in free base memory.',
  ],
  ['E99', 'pxe-network-error', 'the PXE ROM reports a network error', TFTP, 'Unexpected network error.'],
];

const codesById = Map.groupBy(PXE_CODES, ([, id]) => id);

const pxe: readonly ConsoleSignature[] = atStage(
  'firmware',
  [...codesById].flatMap(([id, rows]) => {
    const [first] = rows;
    if (!first) return [];
    const [code, , means, advice, text] = first;
    return [
      {
        id,
        severity: id === 'pxe-cancelled' ? ('note' as const) : ('error' as const),
        has: 'PXE-E',
        pattern: new RegExp(`\\bPXE-(?:${rows.map(([one]) => one).join('|')})\\b`),
        means,
        advice,
        source:
          'PXE 2.1 and Intel Boot Agent message codes; EDK II, NetworkPkg/UefiPxeBcDxe/PxeBcBoot.c, PxeBcLoadBootFile',
        example: `PXE-${code}: ${text}`,
      },
    ];
  }),
);

const others: readonly ConsoleSignature[] = atStage('firmware', [
  {
    id: 'pxe-other',
    severity: 'error',
    has: 'PXE-E',
    pattern: new RegExp(`\\bPXE-E(?!${PXE_CODES.map(([code]) => code.slice(1)).join('|')})[0-9A-F]{2}\\b`),
    means: 'the PXE ROM reports an error',
    advice: 'Look the code up in the manual of the network card.',
    source: 'PXE 2.1 and Intel Boot Agent message codes',
    example: 'PXE-E77: Bad or missing discovery server list.',
  },
]);

export const FIRMWARE_SIGNATURES: readonly ConsoleSignature[] = [...screens, ...pxe, ...others];
