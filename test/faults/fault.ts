// What a fault of the catalogue is: how it is injected, which causes are right answers, and how the machine is helped.

import type { FaultKind } from '../../appliance/lab/rack/faults.ts';
import type { Stage } from '../../appliance/trail/diagnosis/stages.ts';

export const AREAS = [
  'firmware',
  'cabling',
  'VLAN and MTU',
  'DHCP',
  'TFTP',
  'files',
  'memory',
  'disks',
  'BMC',
  'clock',
  'TLS',
  'cloud-init',
  'agent',
  'appliance disk and database',
  'power',
  'human error',
] as const;
export type Area = (typeof AREAS)[number];

/** Kinds of machine in the rack of the catalogue. */
export const MACHINES = ['bios', 'uefi', 'two-cards', 'by-hand', 'secure-boot'] as const;
export type MachineKind = (typeof MACHINES)[number];

/** Frames between one machine and its switch port that are lost. */
export type Lost =
  /** Sent by the machine to a port of the appliance. */
  | { readonly to: 'tcp' | 'udp'; readonly ports: string }
  /** Sent to the machine from a port; `ours`: of the appliance only, not of another server. */
  | { readonly from: 'tcp' | 'udp'; readonly ports: string; readonly ours?: true }
  /** Sent to the machine, and longer than this. */
  | { readonly longerThan: number };

/** One step of an injection or a repair. `$node` in commands is the machine. */
export type Step =
  /** The work begins. */
  | { readonly do: 'work'; readonly verb: 'commission' | 'deploy' | 'release'; readonly profile?: string }
  /** It is installed with Debian and in service, from before or now. */
  | { readonly do: 'be-active' }
  /** Runs while the machine is worked on; the same injection without the work. */
  | { readonly do: 'coldiron'; readonly args: readonly string[]; readonly stdin?: string }
  | { readonly do: 'rack-fault'; readonly kind: FaultKind; readonly value?: string; readonly everywhere?: true }
  | { readonly do: 'lose'; readonly frames: Lost }
  /** `seconds`: it is plugged in again after this time. */
  | { readonly do: 'pull-cable'; readonly seconds?: number }
  /** The cloud-init configuration on the installed disk becomes text that is not YAML; then the machine starts. */
  | { readonly do: 'break-user-data' }
  /** Into a VLAN without an appliance, or into the network of the second cards. */
  | { readonly do: 'move-port'; readonly into: 'empty' | 'work' }
  | {
      readonly do: 'damage';
      readonly file: string;
      readonly how: 'garbage' | 'garbage-inside' | 'truncated' | 'removed';
    }
  | { readonly do: 'from-next-power-on'; readonly memory?: number; readonly bootCard?: string; readonly clock?: string }
  | { readonly do: 'freeze' }
  | { readonly do: 'limit-disk'; readonly bytesPerSecond: number }
  | { readonly do: 'press'; readonly button: 'on' | 'off' | 'reset' }
  /** The disk starts a program that prints a line and stops. */
  | { readonly do: 'fill-boot-disk' }
  /** Another machine with the same MAC address and another chassis starts. */
  | { readonly do: 'start-twin' }
  /** Other clients hold every address of the pool. */
  | { readonly do: 'take-pool' }
  | { readonly do: 'fill-state-disk' }
  /** Like a power failure of the appliance. */
  | { readonly do: 'kill-appliance' }
  | { readonly do: 'start-appliance' }
  /** It is switched on, by its BMC. */
  | { readonly do: 'until-on' }
  | { readonly do: 'until-event'; readonly kind: string; readonly with?: Readonly<Record<string, RegExp>> }
  | { readonly do: 'until-screen'; readonly text: RegExp };

export interface Fault {
  /** Stable: the name of its recording. */
  readonly id: string;
  readonly area: Area;
  /** What is wrong, in a few words. */
  readonly what: string;
  readonly machine: MachineKind;
  readonly inject: readonly Step[];
  /** Where the machine stops; null: no boot is expected to happen. */
  readonly stage: Stage | null;
  /** The first answer must be one of these causes. Empty: the machine goes on by itself, and no answer is right; or `refused`. */
  readonly right: readonly string[];
  /** The command that starts the work refuses with this reason, and nothing is started. */
  readonly refused?: RegExp;
  /** Causes whose next step would do damage, or send a person to the wrong place. */
  readonly harmful: readonly string[];
  /** Everything that was injected is undone, as the next step says; then: */
  readonly recovery: Recovery;
  /** It affects all machines: nothing else may run meanwhile, except faults that are `apart`. */
  readonly alone?: true;
  /** Its machine is in service and only waited for: faults that are `alone` do not reach it. */
  readonly apart?: true;
}

export type Recovery =
  /** It goes on by itself. */
  | { readonly kind: 'goes-on' }
  /** These steps, and then it goes on. */
  | { readonly kind: 'steps'; readonly steps: readonly Step[] }
  /** The work is cancelled if it is still in progress, and started again. */
  | { readonly kind: 'again'; readonly steps?: readonly Step[] }
  | { readonly kind: 'none'; readonly why: string };

export const COMMISSION: Step = { do: 'work', verb: 'commission' };
export const deploy = (profile: string): Step => ({ do: 'work', verb: 'deploy', profile });
export const untilStep = (step: string, status = 'started|progress'): Step => ({
  do: 'until-event',
  kind: 'session.step',
  with: { step: new RegExp(`^${step}`), status: new RegExp(status) },
});
/** Advice that is wrong wherever the loader was not rejected: Secure Boot is switched off, or the machine is declared anew. */
export const SECURE_BOOT_ADVICE = ['loader-rejected'] as const;
