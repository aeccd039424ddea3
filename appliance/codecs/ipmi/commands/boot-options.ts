// IPMI v2.0 §28.12, §28.13: the boot device override for the firmware.

import { IpmiDecodeError } from '../errors.ts';
import { type IpmiCommand, ipmiCommand, NET_FN, nothing } from './command.ts';

/** Table 28-14. */
export const BOOT_PARAMETER = { setInProgress: 0, validBitClearing: 3, infoAcknowledge: 4, flags: 5 } as const;
const VALIDITY_BIT = 0x80;

/** Table 28-14, parameter 5, data 2: bits 5 to 2. */
export const BOOT_DEVICE_CODES = {
  none: 0x0,
  network: 0x1,
  disk: 0x2,
  'safe-disk': 0x3,
  diagnostics: 0x4,
  cdrom: 0x5,
  setup: 0x6,
  'remote-floppy': 0x7,
  'remote-cdrom': 0x8,
  'remote-media': 0x9,
  'remote-disk': 0xb,
  floppy: 0xf,
} as const;
export type BootSource = keyof typeof BOOT_DEVICE_CODES;

export interface BootFlags {
  /** Cleared by the firmware once it has applied the override, and by the BMC when no boot follows within 60 seconds. */
  readonly valid: boolean;
  readonly persistent: boolean;
  readonly efi: boolean;
  readonly device: BootSource;
}

const VALID = 0x80;
const PERSISTENT = 0x40;
const EFI = 0x20;

const SET_CODES = {
  128: 'the BMC does not know this boot parameter',
  129: 'another client is changing the boot options',
  130: 'the boot parameter is read-only',
};

const setParameter = (parameter: number, ...data: readonly number[]): IpmiCommand<void> =>
  ipmiCommand({
    name: `Set System Boot Options (${parameter})`,
    netFn: NET_FN.chassis,
    command: 0x08,
    data: [parameter, ...data],
    codes: SET_CODES,
    decode: nothing,
  });

const SET_PROGRESS = { complete: 0, 'in-progress': 1, commit: 2 } as const;

export const setBootProgress = (progress: keyof typeof SET_PROGRESS): IpmiCommand<void> =>
  setParameter(BOOT_PARAMETER.setInProgress, SET_PROGRESS[progress]);

/** Bit 3 set: the flags do not expire after 60 seconds; a server can take longer than that to reach its boot menu. */
export const keepBootFlagsBeyondTimeout = (): IpmiCommand<void> => setParameter(BOOT_PARAMETER.validBitClearing, 0x08);

/** Marks the BIOS acknowledgement as outstanding, as the specification requires when new flags are set. */
export const clearBootAcknowledge = (): IpmiCommand<void> => setParameter(BOOT_PARAMETER.infoAcknowledge, 0x01, 0x01);

export const setBootFlags = (flags: BootFlags): IpmiCommand<void> =>
  setParameter(
    BOOT_PARAMETER.flags,
    (flags.valid ? VALID : 0) | (flags.persistent ? PERSISTENT : 0) | (flags.efi ? EFI : 0),
    BOOT_DEVICE_CODES[flags.device] << 2,
    0,
    0,
    0,
  );

export interface BootParameter<Value> {
  /** False: the BMC reports that its stored value is invalid. */
  readonly usable: boolean;
  readonly value: Value;
}

function getParameter<Value>(
  parameter: number,
  decode: (data: Uint8Array) => Value,
): IpmiCommand<BootParameter<Value>> {
  return ipmiCommand({
    name: `Get System Boot Options (${parameter})`,
    netFn: NET_FN.chassis,
    command: 0x09,
    data: [parameter, 0, 0],
    codes: SET_CODES,
    decode: (reader) => {
      reader.uint8('parameter version');
      const offset = reader.offset;
      const returned = reader.uint8('boot parameter');
      if ((returned & ~VALIDITY_BIT) !== parameter) {
        throw new IpmiDecodeError(
          'boot parameter',
          offset,
          `is ${returned & ~VALIDITY_BIT}, requested was ${parameter}`,
        );
      }
      return { usable: (returned & VALIDITY_BIT) === 0, value: decode(reader.rest()) };
    },
  });
}

/** Parameters 0, 3 and 4 as raw bit fields, for troubleshooting. */
export const getBootParameter = (
  parameter: Exclude<keyof typeof BOOT_PARAMETER, 'flags'>,
): IpmiCommand<BootParameter<Uint8Array>> => getParameter(BOOT_PARAMETER[parameter], (data) => data);

export const getBootFlags = (): IpmiCommand<BootParameter<BootFlags>> =>
  getParameter(BOOT_PARAMETER.flags, (data) => {
    const [flags, device] = data;
    if (flags === undefined || device === undefined) {
      throw new IpmiDecodeError('boot flags', 2, `need 2 bytes, ${data.length} are left`);
    }
    return {
      valid: (flags & VALID) !== 0,
      persistent: (flags & PERSISTENT) !== 0,
      efi: (flags & EFI) !== 0,
      device: sourceOf((device >> 2) & 0x0f),
    };
  });

/** Reserved numbers are read as no device: no known firmware sets them. */
const sourceOf = (code: number): BootSource =>
  (Object.entries(BOOT_DEVICE_CODES) as [BootSource, number][]).find(([, number]) => number === code)?.[0] ?? 'none';
