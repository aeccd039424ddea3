// The table of faults that can be injected into a rack: what each affects and which value it takes.

import { ColdironError } from '../../domain/errors.ts';

/** The target for all machines, or for the network itself. */
export const WHOLE_NETWORK = 'network';

interface FaultValue {
  readonly name: string;
  readonly unit: string;
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
}

interface Fault {
  readonly on: readonly ('machine' | 'network')[];
  readonly means: string;
  /** A number, a regular expression, or nothing. */
  readonly takes: FaultValue | 'pattern' | null;
}

const PERCENT: FaultValue = { name: 'share', unit: '%', minimum: 1, maximum: 100, default: 20 };

export const FAULTS = {
  loss: {
    on: ['machine', 'network'],
    means: 'packets to and from the machine are dropped',
    takes: PERCENT,
  },
  slow: {
    on: ['machine', 'network'],
    means: 'the link is slow',
    takes: { name: 'rate', unit: 'kbit/s', minimum: 8, maximum: 1_000_000, default: 1000 },
  },
  stp: {
    on: ['machine', 'network'],
    means: 'the switch port blocks for some time after the link comes up (spanning tree)',
    takes: { name: 'time', unit: 's', minimum: 1, maximum: 300, default: 30 },
  },
  'rogue-dhcp': { on: ['network'], means: 'a second, unwanted DHCP server replies', takes: null },
  'bmc-hangs': { on: ['machine'], means: 'the BMC is reachable and does not reply', takes: null },
  'bmc-gone': { on: ['machine'], means: 'the BMC is unplugged', takes: null },
  'bmc-loss': { on: ['machine'], means: 'packets to and from the BMC are dropped', takes: PERCENT },
  'bmc-ignores-boot': {
    on: ['machine'],
    means: 'the BMC accepts and reports the boot device, but the firmware ignores it',
    takes: null,
  },
  'bmc-ignores-power': { on: ['machine'], means: 'the BMC accepts power commands and does nothing', takes: null },
  'disk-readonly': { on: ['machine'], means: 'from the next power-on, the disk is read-only', takes: null },
  'disk-small': {
    on: ['machine'],
    means: 'from the next power-on, the disk is too small',
    takes: { name: 'size', unit: 'MiB', minimum: 1, maximum: 1_048_576, default: 16 },
  },
  'tpm-absent': { on: ['machine'], means: 'from the next power-on, the machine has no TPM', takes: null },
  'tpm-cleared': {
    on: ['machine'],
    means: 'at the next power-on, the TPM gets new endorsement keys, for good',
    takes: null,
  },
  'tpm-replaced': { on: ['machine'], means: 'from the next power-on, another TPM is in the machine', takes: null },
  'tpm-bad-certificate': {
    on: ['machine'],
    means: 'from the next power-on, another TPM with truncated EK certificates is in the machine',
    takes: null,
  },
  'tpm-garbage': {
    on: ['machine'],
    means: 'from the next power-on, the TPM answers commands that use keys with garbage',
    takes: null,
  },
  'tpm-dead': {
    on: ['machine'],
    means: 'from the next power-on, the TPM answers everything with garbage',
    takes: null,
  },
  'firmware-updated': {
    on: ['machine'],
    means: 'from the next power-on, the firmware has another version, which the TPM measures',
    takes: null,
  },
  'power-cut': {
    on: ['machine'],
    means: 'the power fails when a text appears on the console, or in a file',
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
  /** power-cut: watch this file for the pattern instead of the console. */
  readonly file?: string;
}

/** A validated request; the rack still has to check that the machine exists. */
export type CheckedFault =
  | { readonly kind: 'slow'; readonly target: string; readonly amount: number }
  | { readonly kind: Exclude<FaultKind, 'power-cut' | 'slow'>; readonly target: string; readonly amount: number }
  | { readonly kind: 'power-cut'; readonly target: string; readonly pattern: RegExp; readonly file: string | null };

/** `usage` says what is wrong. */
export function checkFault({ target, kind, value, file }: FaultRequest): CheckedFault {
  const fault: Fault = FAULTS[kind];
  const scope = target === WHOLE_NETWORK ? 'network' : 'machine';
  if (!fault.on.includes(scope)) {
    throw new ColdironError('usage', `${kind} applies to a ${fault.on.join(' or a ')}, not to ${target}`);
  }
  if (file !== undefined && kind !== 'power-cut') throw new ColdironError('usage', `${kind} takes no file`);
  if (kind === 'power-cut') return { kind, target, pattern: patternOf(value), file: file ?? null };
  return { kind, target, amount: amountOf(kind, fault.takes, value) };
}

function amountOf(kind: FaultKind, takes: Fault['takes'], value: string | undefined): number {
  if (takes === null || takes === 'pattern') {
    if (value !== undefined) throw new ColdironError('usage', `${kind} takes no value`);
    return 0;
  }
  if (value === undefined) return takes.default;
  const { name, unit, minimum, maximum } = takes;
  const amount = /^\d{1,7}$/.test(value) ? Number(value) : Number.NaN;
  if (amount >= minimum && amount <= maximum) return amount;
  throw new ColdironError('usage', `the ${name} of ${kind} is ${minimum} to ${maximum} ${unit}, not ${value}`);
}

function patternOf(value: string | undefined): RegExp {
  if (value === undefined) throw new ColdironError('usage', 'power-cut needs a value: the text to wait for');
  try {
    return new RegExp(value);
  } catch (error) {
    throw new ColdironError('usage', `not a regular expression: ${(error as Error).message}`);
  }
}

/** For people: `20 %`, or an empty string. */
export function faultAmount(fault: CheckedFault): string {
  if (fault.kind === 'power-cut') {
    return `at ${fault.pattern}${fault.file === null ? '' : ` in ${fault.file}`}`;
  }
  const { takes } = FAULTS[fault.kind];
  return takes === null ? '' : `${fault.amount} ${takes.unit}`;
}
