// What can go wrong in a rack on demand: one table of kinds, with what each acts on and what it takes.

import { ColdironError } from '../../domain/errors.ts';

/** The target that stands for all machines, or for the wire itself. */
export const WHOLE_NETWORK = 'network';

interface FaultValue {
  readonly name: string;
  readonly unit: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly otherwise: number;
}

interface Fault {
  readonly on: readonly ('machine' | 'network')[];
  readonly means: string;
  /** A number, a regular expression, or nothing. */
  readonly takes: FaultValue | 'pattern' | null;
}

const PERCENT: FaultValue = { name: 'share', unit: '%', minimum: 1, maximum: 100, otherwise: 20 };

export const FAULTS = {
  loss: {
    on: ['machine', 'network'],
    means: 'packets get lost on the way to and from the machine',
    takes: PERCENT,
  },
  slow: {
    on: ['machine', 'network'],
    means: 'the link is slow',
    takes: { name: 'rate', unit: 'kbit/s', minimum: 8, maximum: 1_000_000, otherwise: 1000 },
  },
  stp: {
    on: ['machine', 'network'],
    means: 'the switch forwards nothing until some time after the link came up (spanning tree)',
    takes: { name: 'time', unit: 's', minimum: 1, maximum: 300, otherwise: 30 },
  },
  'rogue-dhcp': { on: ['network'], means: 'a DHCP server that nobody asked for answers, too', takes: null },
  'bmc-hangs': { on: ['machine'], means: 'the BMC is there and does not answer', takes: null },
  'bmc-gone': { on: ['machine'], means: 'the BMC is unplugged', takes: null },
  'bmc-loss': { on: ['machine'], means: 'packets to and from the BMC get lost', takes: PERCENT },
  'bmc-ignores-boot': {
    on: ['machine'],
    means: 'the boot device is accepted and read back, and the firmware does not care',
    takes: null,
  },
  'bmc-ignores-power': { on: ['machine'], means: 'power orders are accepted and nothing happens', takes: null },
  'disk-readonly': { on: ['machine'], means: 'from the next power-on, the disk cannot be written', takes: null },
  'disk-small': {
    on: ['machine'],
    means: 'from the next power-on, the disk is too small for anything',
    takes: { name: 'size', unit: 'MiB', minimum: 1, maximum: 1_048_576, otherwise: 16 },
  },
  'power-cut': {
    on: ['machine'],
    means: 'the power fails when a text is printed on the console, or written to a file',
    takes: 'pattern',
  },
} as const satisfies Record<string, Fault>;

export type FaultKind = keyof typeof FAULTS;
export const FAULT_KINDS = Object.keys(FAULTS) as FaultKind[];

export interface FaultRequest {
  readonly target: string;
  readonly kind: FaultKind;
  readonly on: boolean;
  readonly value?: string;
  /** Power cuts: look for the pattern in this file instead of on the console. */
  readonly file?: string;
}

/** A request that makes sense; whether the machine exists is for the rack to say. */
export type CheckedFault =
  | { readonly kind: 'slow'; readonly target: string; readonly amount: number }
  | { readonly kind: Exclude<FaultKind, 'power-cut' | 'slow'>; readonly target: string; readonly amount: number }
  | { readonly kind: 'power-cut'; readonly target: string; readonly pattern: RegExp; readonly file: string | null };

/** `usage` names what is wrong. */
export function checkFault({ target, kind, value, file }: FaultRequest): CheckedFault {
  const fault: Fault = FAULTS[kind];
  const reach = target === WHOLE_NETWORK ? 'network' : 'machine';
  if (!fault.on.includes(reach)) {
    throw new ColdironError('usage', `${kind} is a fault of a ${fault.on.join(' or a ')}, not of ${target}`);
  }
  if (file !== undefined && kind !== 'power-cut') throw new ColdironError('usage', `${kind} looks into no file`);
  if (kind === 'power-cut') return { kind, target, pattern: patternOf(value), file: file ?? null };
  return { kind, target, amount: amountOf(kind, fault.takes, value) };
}

function amountOf(kind: FaultKind, takes: Fault['takes'], value: string | undefined): number {
  if (takes === null || takes === 'pattern') {
    if (value !== undefined) throw new ColdironError('usage', `${kind} takes no value`);
    return 0;
  }
  if (value === undefined) return takes.otherwise;
  const { name, unit, minimum, maximum } = takes;
  const amount = /^\d{1,7}$/.test(value) ? Number(value) : Number.NaN;
  if (amount >= minimum && amount <= maximum) return amount;
  throw new ColdironError('usage', `the ${name} of ${kind} is ${minimum} to ${maximum} ${unit}, not ${value}`);
}

function patternOf(value: string | undefined): RegExp {
  if (value === undefined) throw new ColdironError('usage', 'power-cut needs the text to wait for, as a value');
  try {
    return new RegExp(value);
  } catch (error) {
    throw new ColdironError('usage', `not a regular expression: ${(error as Error).message}`);
  }
}

/** For people: 20 %, or nothing. */
export function faultAmount(fault: CheckedFault): string {
  if (fault.kind === 'power-cut') {
    return `at ${fault.pattern}${fault.file === null ? '' : ` in ${fault.file}`}`;
  }
  const { takes } = FAULTS[fault.kind];
  return takes === null ? '' : `${fault.amount} ${takes.unit}`;
}
