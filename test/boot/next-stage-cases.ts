// The next stage of each kind of client, one case per row. The table of reasons uses the cases too.

import type { BecauseId } from '../../appliance/boot/because.ts';
import { type ClientFacts, factsFromQuestion, type IpxeFeatures } from '../../appliance/boot/client-facts.ts';
import type { BootQuestion } from '../../appliance/boot/decide-boot.ts';
import { parseMac } from '../../appliance/domain/mac.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { architecture, factsOf, machineIn, NOW, networkWith } from './boot-fixtures.ts';

export interface NextStageCase {
  readonly sentence: string;
  readonly question: BootQuestion;
  /** A loader as `tftp:file` or `http:file`, the script's path, `nothing`, or `file:` and the requested name. */
  readonly gets: string;
  readonly because: BecauseId;
}

type Row = readonly [
  sentence: string,
  facts: ClientFacts,
  gets: string,
  because: BecauseId,
  changes?: Partial<BootQuestion>,
];

const FULL: IpxeFeatures = { version: '1.21.1', http: true, https: true, efi: true, bzimage: true, menu: true };
const ipxe = (code: number, features: Partial<IpxeFeatures> | null) =>
  factsOf(code, { program: 'ipxe', ipxe: features === null ? null : { ...FULL, ...features } });
const SCRIPT = '/boot/ipxe/boot.ipxe';
const unknown = { architecture: null, cpu: null, firmware: null } as const;
const pi = factsFromQuestion({
  mac: mustParse(parseMac('b8:27:eb:01:02:03')),
  architecture: architecture(0),
  uuid: null,
  relay: null,
  stage: 'firmware',
});
const secure = { network: networkWith({ secureBoot: true }) };

const ROWS: readonly Row[] = [
  ['BIOS firmware', factsOf(0), 'tftp:undionly.kpxe', 'loader-for-architecture'],
  ['x86-64 UEFI firmware', factsOf(7), 'tftp:ipxe.efi', 'loader-for-architecture'],
  ['x86-64 UEFI firmware over HTTP', factsOf(16), 'http:ipxe.efi', 'loader-for-architecture'],
  ['arm64 UEFI firmware over HTTP', factsOf(19), 'http:arm64-efi/snponly.efi', 'loader-for-architecture'],
  [
    'HTTP firmware that reports a TFTP architecture',
    factsOf(7, { program: 'firmware-http' }),
    'http:ipxe.efi',
    'loader-for-architecture',
  ],
  ['x86-64 UEFI firmware on a Secure Boot network', factsOf(7), 'tftp:shimx64.efi', 'loader-under-secure-boot', secure],
  [
    'a machine exempt from the Secure Boot of its network',
    factsOf(7),
    'tftp:ipxe.efi',
    'loader-for-architecture',
    { ...secure, machine: machineIn('registered', { spec: { secureBoot: false } }) },
  ],
  [
    'a machine with Secure Boot on a network without',
    factsOf(11),
    'tftp:shimaa64.efi',
    'loader-under-secure-boot',
    { machine: machineIn('registered', { spec: { secureBoot: true } }) },
  ],
  ['extinct firmware', factsOf(2), 'nothing', 'no-loader-for-architecture'],
  ['firmware that reports no architecture', factsOf(7, unknown), 'nothing', 'architecture-untold'],
  ['the boot ROM of a Raspberry Pi', pi, 'nothing', 'raspberry-pi-rom'],
  ['a UEFI iPXE with all it needs', ipxe(7, {}), SCRIPT, 'script-for-ipxe'],
  ['a UEFI iPXE without bzImage, which it does not need', ipxe(7, { bzimage: false }), SCRIPT, 'script-for-ipxe'],
  ['a BIOS iPXE without EFI, which it does not need', ipxe(0, { efi: false }), SCRIPT, 'script-for-ipxe'],
  ['an iPXE that reports no features', ipxe(7, null), SCRIPT, 'script-for-ipxe-that-tells-nothing'],
  ['an iPXE without HTTP', ipxe(7, { http: false }), 'tftp:ipxe.efi', 'ipxe-without-http'],
  ['an iPXE without HTTP, booted over HTTP', ipxe(16, { http: false }), 'tftp:ipxe.efi', 'ipxe-without-http'],
  ['a UEFI iPXE that starts no EFI kernel', ipxe(7, { efi: false }), 'tftp:ipxe.efi', 'ipxe-without-kernel-format'],
  [
    'a BIOS iPXE that starts no bzImage',
    ipxe(0, { bzimage: false }),
    'tftp:undionly.kpxe',
    'ipxe-without-kernel-format',
  ],
  ['an iPXE without HTTP on extinct firmware', ipxe(2, { http: false }), 'nothing', 'no-loader-for-architecture'],
  ['an operating system', factsOf(7, { program: 'os', ...unknown }), 'nothing', 'operating-system'],
  ['U-Boot', factsOf(22, { program: 'loader' }), 'nothing', 'other-boot-loader'],
  ['a TFTP client', factsOf(7, { via: 'tftp', file: 'ipxe.efi', ...unknown }), 'file:ipxe.efi', 'asked-by-name'],
  ['an HTTP client', factsOf(7, { via: 'http', file: SCRIPT, program: 'ipxe' }), `file:${SCRIPT}`, 'asked-by-name'],
];

export const NEXT_STAGE_CASES: readonly NextStageCase[] = ROWS.map(([sentence, facts, gets, because, changes]) => ({
  sentence,
  question: { facts, machine: null, network: networkWith(), profile: null, now: NOW, ...changes },
  gets,
  because,
}));
