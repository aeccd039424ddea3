// IPMI v2.0 §28: power control and the identify light.

import { type IpmiCommand, ipmiCommand, NET_FN, nothing } from './command.ts';

const RESTORE_POLICIES = ['stays off', 'as before', 'switches on', 'unknown'] as const;

export interface ChassisStatus {
  readonly power: 'on' | 'off';
  readonly powerFault: boolean;
  /** What happens when mains power returns. */
  readonly restorePolicy: (typeof RESTORE_POLICIES)[number];
  readonly intrusion: boolean;
  readonly driveFault: boolean;
  readonly coolingFault: boolean;
}

/** §28.2. */
export const getChassisStatus = (): IpmiCommand<ChassisStatus> =>
  ipmiCommand({
    name: 'Get Chassis Status',
    netFn: NET_FN.chassis,
    command: 0x01,
    decode: (reader) => {
      const power = reader.uint8('current power state');
      reader.uint8('last power event');
      const misc = reader.uint8('misc chassis state');
      return {
        power: (power & 0x01) !== 0 ? 'on' : 'off',
        powerFault: (power & 0x18) !== 0,
        restorePolicy: RESTORE_POLICIES[(power >> 5) & 0x03] ?? 'unknown',
        intrusion: (misc & 0x01) !== 0,
        driveFault: (misc & 0x04) !== 0,
        coolingFault: (misc & 0x08) !== 0,
      };
    },
  });

/** §28.3. `soft` requests a shutdown from the operating system. */
export const CHASSIS_CONTROL = { off: 0, on: 1, cycle: 2, reset: 3, diagnosticInterrupt: 4, soft: 5 } as const;
export type ChassisControl = keyof typeof CHASSIS_CONTROL;

const ONCE_ONLY: ReadonlySet<ChassisControl> = new Set(['cycle', 'reset', 'diagnosticInterrupt']);

export const chassisControl = (control: ChassisControl): IpmiCommand<void> =>
  ipmiCommand({
    name: `Chassis Control (${control})`,
    netFn: NET_FN.chassis,
    command: 0x02,
    data: [CHASSIS_CONTROL[control]],
    repeatable: !ONCE_ONLY.has(control),
    decode: nothing,
  });

/** §28.5. Old BMCs support only the interval, so the "indefinitely" byte is sent only when needed. */
export const chassisIdentify = (light: { seconds: number } | 'on' | 'off'): IpmiCommand<void> =>
  ipmiCommand({
    name: 'Chassis Identify',
    netFn: NET_FN.chassis,
    command: 0x04,
    data: light === 'on' ? [0, 1] : [light === 'off' ? 0 : Math.min(Math.max(1, Math.round(light.seconds)), 0xff)],
    decode: nothing,
  });
