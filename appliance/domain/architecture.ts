// Client architectures: IANA "Processor Architecture Types" (DHCP option 93, RFC 4578 §2.1), and the CPU architecture of
// each. RFC 4578 printed 7 and 9 swapped; erratum 4624, IANA, EDK2 and iPXE agree on 7 = x86-64.

import { type Branded, type Parsed, parsed, shown, unparsable } from './parsed.ts';

export const CPU_ARCHITECTURES = ['x86_64', 'i386', 'arm64', 'arm32', 'riscv64', 'loong64'] as const;
export type CpuArchitecture = (typeof CPU_ARCHITECTURES)[number];

export function parseCpuArchitecture(text: string): Parsed<CpuArchitecture> {
  const known = CPU_ARCHITECTURES.find((arch) => arch === text);
  if (known) return parsed(known);
  return unparsable(`not a supported architecture (${CPU_ARCHITECTURES.join(', ')}): ${shown(text)}`);
}

export type ClientArchCode = Branded<number, 'ClientArchCode'>;

export interface ClientArchitecture {
  readonly code: ClientArchCode;
  readonly name: string;
  /** Null: Coldiron provisions no machine of this type. */
  readonly cpu: CpuArchitecture | null;
  readonly firmware: 'bios' | 'efi' | 'other';
  /** How the firmware fetches its first file. */
  readonly transport: 'tftp' | 'http';
}

type Row = readonly [
  code: number,
  name: string,
  cpu: CpuArchitecture | null,
  firmware: 'bios' | 'efi' | 'other',
  transport: 'tftp' | 'http',
];

const ROWS: readonly Row[] = [
  // A BIOS client sends 0 for every CPU; every server in use today that sends it is x86_64.
  [0, 'x86 BIOS', 'x86_64', 'bios', 'tftp'],
  [1, 'NEC PC98', null, 'bios', 'tftp'],
  [2, 'IA64 EFI', null, 'efi', 'tftp'],
  [3, 'DEC Alpha', null, 'other', 'tftp'],
  [4, 'Arc x86', null, 'other', 'tftp'],
  [5, 'Intel Lean Client', null, 'other', 'tftp'],
  [6, 'EFI IA32', 'i386', 'efi', 'tftp'],
  [7, 'EFI x86-64', 'x86_64', 'efi', 'tftp'],
  [8, 'EFI Xscale', null, 'efi', 'tftp'],
  [9, 'EFI BC (x86-64 in practice)', 'x86_64', 'efi', 'tftp'],
  [10, 'EFI ARM 32-bit', 'arm32', 'efi', 'tftp'],
  [11, 'EFI ARM 64-bit', 'arm64', 'efi', 'tftp'],
  [12, 'PowerPC Open Firmware', null, 'other', 'tftp'],
  [13, 'PowerPC ePAPR', null, 'other', 'tftp'],
  [14, 'POWER OPAL v3', null, 'other', 'tftp'],
  [15, 'EFI IA32 over HTTP', 'i386', 'efi', 'http'],
  [16, 'EFI x86-64 over HTTP', 'x86_64', 'efi', 'http'],
  [17, 'EFI BC over HTTP', 'x86_64', 'efi', 'http'],
  [18, 'EFI ARM 32-bit over HTTP', 'arm32', 'efi', 'http'],
  [19, 'EFI ARM 64-bit over HTTP', 'arm64', 'efi', 'http'],
  [20, 'x86 BIOS over HTTP', 'x86_64', 'bios', 'http'],
  [21, 'U-Boot ARM 32-bit', 'arm32', 'other', 'tftp'],
  [22, 'U-Boot ARM 64-bit', 'arm64', 'other', 'tftp'],
  [23, 'U-Boot ARM 32-bit over HTTP', 'arm32', 'other', 'http'],
  [24, 'U-Boot ARM 64-bit over HTTP', 'arm64', 'other', 'http'],
  [25, 'RISC-V 32-bit EFI', null, 'efi', 'tftp'],
  [26, 'RISC-V 32-bit EFI over HTTP', null, 'efi', 'http'],
  [27, 'RISC-V 64-bit EFI', 'riscv64', 'efi', 'tftp'],
  [28, 'RISC-V 64-bit EFI over HTTP', 'riscv64', 'efi', 'http'],
  [29, 'RISC-V 128-bit EFI', null, 'efi', 'tftp'],
  [30, 'RISC-V 128-bit EFI over HTTP', null, 'efi', 'http'],
  [31, 's390 Basic', null, 'other', 'tftp'],
  [32, 's390 Extended', null, 'other', 'tftp'],
  [33, 'MIPS 32-bit EFI', null, 'efi', 'tftp'],
  [34, 'MIPS 64-bit EFI', null, 'efi', 'tftp'],
  [35, 'Sunway 32-bit EFI', null, 'efi', 'tftp'],
  [36, 'Sunway 64-bit EFI', null, 'efi', 'tftp'],
  [37, 'LoongArch 32-bit EFI', null, 'efi', 'tftp'],
  [38, 'LoongArch 32-bit EFI over HTTP', null, 'efi', 'http'],
  [39, 'LoongArch 64-bit EFI', 'loong64', 'efi', 'tftp'],
  [40, 'LoongArch 64-bit EFI over HTTP', 'loong64', 'efi', 'http'],
  [41, 'Raspberry Pi rpiboot', null, 'other', 'tftp'],
];

export const CLIENT_ARCHITECTURES: ReadonlyMap<number, ClientArchitecture> = new Map(
  ROWS.map(([code, name, cpu, firmware, transport]) => [
    code,
    { code: code as ClientArchCode, name, cpu, firmware, transport },
  ]),
);

export function parseClientArchCode(code: number): Parsed<ClientArchitecture> {
  const known = CLIENT_ARCHITECTURES.get(code);
  return known ? parsed(known) : unparsable(`not a client architecture in the IANA registry: ${shown(code)}`);
}

/** iPXE's ${buildarch}. A 32-bit BIOS build reports i386 on a 64-bit CPU too, so there the platform decides. */
export function cpuFromBuildArch(buildArch: string, platform: string): Parsed<CpuArchitecture> {
  if (buildArch === 'i386' && platform === 'pcbios') return parsed('x86_64');
  return parseCpuArchitecture(buildArch);
}
