// The first program a machine gets, by the architecture its firmware reports (IANA "Processor Architecture Types").
// A row either names a file or says why there is none; `advertisedFiles` lists every file that a row can name.

import { CLIENT_ARCHITECTURES, type ClientArchitecture, type CpuArchitecture } from '../domain/architecture.ts';
import { ENTRY_SCRIPT_PATH, loaderPath } from './boot-paths.ts';

export interface LoaderPreferences {
  /** Which iPXE build x86-64 UEFI machines get. */
  readonly efiLoader: 'ipxe' | 'snponly';
  readonly secureBoot: boolean;
  /** Whether this appliance has the file; omitted, as for a query about a rack elsewhere: it has all of them. */
  readonly available?: ((file: string) => boolean) | undefined;
}

export type LoaderChoice =
  | {
      readonly kind: 'loader';
      /** The TFTP name; over HTTP it is below /boot/loader/. */
      readonly file: string;
      readonly starts: 'ipxe' | 'grub';
      /** Under Secure Boot: the file that shim fetches by itself from its own folder. */
      readonly next: string | null;
      readonly why: string;
    }
  | { readonly kind: 'none'; readonly why: string };

type Row = { readonly file: string; readonly why: string } | { readonly file: null; readonly why: string };

const none = (why: string): Row => ({ file: null, why });

const UNDIONLY: Row = {
  file: 'undionly.kpxe',
  why: 'undionly.kpxe uses the card through the UNDI code of its own boot ROM',
};
const IPXE_X64: Row = { file: 'ipxe.efi', why: 'ipxe.efi has drivers of its own for many cards' };
const SNPONLY_X64: Row = {
  file: 'snponly.efi',
  why: 'this network selects snponly.efi, which uses the driver of the firmware',
};
const snponly = (folder: string): Row => ({
  file: `${folder}/snponly.efi`,
  why: 'snponly.efi uses the driver of the firmware, so any card that it booted from works',
});

const EXTINCT = none('machines of this kind are no longer made');
const POWER = none('POWER firmware starts its own loader (GRUB for ieee1275, petitboot), which is not served');
const U_BOOT = none('U-Boot looks for pxelinux.cfg, which is not served; its UEFI mode reports 10 or 11');
const NO_BUILD = none('iPXE is not built for this instruction set');

/** x86-64 EFI is absent: there the network selects the build. */
const ROWS: ReadonlyMap<number, Row> = new Map([
  [0, UNDIONLY],
  [1, EXTINCT],
  [2, EXTINCT],
  [3, EXTINCT],
  [4, EXTINCT],
  [5, EXTINCT],
  [6, snponly('i386-efi')], // 32-bit firmware on 64-bit Atom boards
  [8, EXTINCT],
  [10, snponly('arm32-efi')],
  [11, snponly('arm64-efi')],
  [12, POWER],
  [13, POWER],
  [14, POWER],
  [15, snponly('i386-efi')],
  [18, snponly('arm32-efi')],
  [19, snponly('arm64-efi')],
  [20, none('no BIOS is known that boots over HTTP; plain PXE reports 0')],
  [21, U_BOOT],
  [22, U_BOOT],
  [23, U_BOOT],
  [24, U_BOOT],
  [25, NO_BUILD],
  [26, NO_BUILD],
  [27, snponly('riscv64-efi')],
  [28, snponly('riscv64-efi')],
  [29, NO_BUILD],
  [30, NO_BUILD],
  [31, none('s390 reads a configuration of its own, which is not served')],
  [32, none('s390 reads a configuration of its own, which is not served')],
  [33, NO_BUILD],
  [34, NO_BUILD],
  [35, NO_BUILD],
  [36, NO_BUILD],
  [37, NO_BUILD],
  [38, NO_BUILD],
  [39, snponly('loong64-efi')],
  [40, snponly('loong64-efi')],
  [41, none('rpiboot needs the firmware tree of the Raspberry Pi; its UEFI firmware reports 11')],
]);

/** Signed by the UEFI CA; each starts the signed GRUB in the same folder. */
const SHIMS: Partial<Record<CpuArchitecture, { readonly file: string; readonly next: string }>> = {
  x86_64: { file: 'shimx64.efi', next: 'grubx64.efi' },
  arm64: { file: 'shimaa64.efi', next: 'grubaa64.efi' },
};

export function loaderFor(architecture: ClientArchitecture, preferences: LoaderPreferences): LoaderChoice {
  const selected = selectedLoader(architecture, preferences);
  if (selected.kind === 'none') return selected;
  const { available = () => true } = preferences;
  const absent = absentOf(selected, available);
  if (absent === undefined) return selected;
  // The signed pair also starts without Secure Boot. Debian has it for arm64, and no iPXE.
  const signed = selectedLoader(architecture, { ...preferences, secureBoot: true });
  if (signed.kind === 'loader' && absentOf(signed, available) === undefined) {
    return { ...signed, why: `no ${selected.file} is on this appliance, and ${signed.file} starts here too` };
  }
  return {
    kind: 'none',
    why: `it needs ${absent}, which is missing or damaged on this appliance: coldiron assets build`,
  };
}

const absentOf = (
  { file, next }: { readonly file: string; readonly next: string | null },
  available: (file: string) => boolean,
): string | undefined => [file, next].find((name) => name !== null && !available(name)) ?? undefined;

function selectedLoader(architecture: ClientArchitecture, preferences: LoaderPreferences): LoaderChoice {
  const row = rowFor(architecture, preferences);
  if (row.file === null) return { kind: 'none', why: row.why };
  // A BIOS has no Secure Boot: the setting does not apply.
  if (!preferences.secureBoot || architecture.firmware !== 'efi') {
    return { kind: 'loader', file: row.file, starts: 'ipxe', next: null, why: row.why };
  }
  const shim = architecture.cpu === null ? undefined : SHIMS[architecture.cpu];
  if (!shim) return { kind: 'none', why: 'Secure Boot is on, and no signed loader exists for this architecture' };
  // Shim and GRUB would both start, and GRUB, which has no http module, would stop at its prompt.
  if (architecture.transport === 'http') {
    return { kind: 'none', why: 'Secure Boot is on, and the signed GRUB supports only TFTP: boot by PXE instead' };
  }
  return {
    kind: 'loader',
    file: shim.file,
    starts: 'grub',
    next: shim.next,
    why: `${shim.file} is signed and starts the signed ${shim.next} beside it, instead of iPXE`,
  };
}

function rowFor(architecture: ClientArchitecture, preferences: LoaderPreferences): Row {
  // RFC 4578 printed 7 and 9 swapped, so both are served as x86-64; 16 and 17 are the same two over HTTP.
  if (architecture.cpu === 'x86_64' && architecture.firmware === 'efi') {
    return preferences.efiLoader === 'snponly' ? SNPONLY_X64 : IPXE_X64;
  }
  return ROWS.get(architecture.code) ?? NO_BUILD;
}

export interface AdvertisedFile {
  /** Its name over TFTP; null when it is only served over HTTP. */
  readonly tftpName: string | null;
  readonly httpPath: string;
  /** null: text, the same for every machine. */
  readonly cpu: CpuArchitecture | null;
}

/** Every file that any rule can name; all of them are served over both transports. */
export function advertisedFiles(): readonly AdvertisedFile[] {
  const files = new Map<string, AdvertisedFile>();
  for (const architecture of CLIENT_ARCHITECTURES.values()) {
    for (const efiLoader of ['ipxe', 'snponly'] as const) {
      for (const secureBoot of [false, true]) {
        const choice = loaderFor(architecture, { efiLoader, secureBoot });
        if (choice.kind === 'none') continue;
        for (const file of choice.next === null ? [choice.file] : [choice.file, choice.next]) {
          files.set(file, { tftpName: file, httpPath: loaderPath(file), cpu: architecture.cpu });
        }
      }
    }
  }
  return [{ tftpName: null, httpPath: ENTRY_SCRIPT_PATH, cpu: null }, ...files.values()];
}
