// The machines of a virtual rack: read from a YAML file, or a number of identical machines. All values follow from a machine's
// number, so the same file always makes the same machines.

import { type Static, Type } from 'typebox';
import { readDocument } from '../../documents/document.ts';
import { type Report, structureReader, type ValidPart } from '../../documents/structure.ts';
import { ColdironError } from '../../domain/errors.ts';
import { parseMac } from '../../domain/mac.ts';
import { parseHostname, parseObjectName } from '../../domain/names.ts';
import { BMC_MODES, type BmcMode } from '../../domain/network.ts';
import type { Parsed } from '../../domain/parsed.ts';
import { type BootOrder, FIRMWARE_KINDS, type FirmwareKind } from './firmware.ts';

export interface RackDefinition {
  readonly site: string;
  /**
   * real: BMCs reply and switch machines on. recorder: BMCs reply and their commands are recorded, no machine
   * runs. disabled: there are no BMCs, machines are switched by hand.
   */
  readonly bmcMode: BmcMode;
  readonly machines: readonly RackedMachine[];
}

export interface RackedMachine {
  readonly name: string;
  /** Its position in the rack, from 1. */
  readonly number: number;
  readonly firmware: FirmwareKind;
  /** In MiB; null: the default of its firmware kind. */
  readonly memory: number | null;
  /** In MiB; 0: no disk. */
  readonly disk: number;
  /** MAC addresses; the first is that of the boot card. */
  readonly cards: readonly [string, ...string[]];
  readonly uuid: string;
  readonly serial: string;
  /** What its firmware tries first without a boot override. */
  readonly first: BootOrder;
  /** Whether its operating system can reach the BMC. */
  readonly inBandBmc: boolean;
  readonly tpm: boolean;
  /** It has the MAC addresses, the UUID and the serial number of this machine: an impostor. No inventory declares it. */
  readonly twinOf: string | null;
  /** The profile to install; declared elsewhere. */
  readonly profile: string | null;
  readonly cluster: string | null;
}

/** BMC addresses are 10.77.100.1 to .250. */
const MAX_MACHINES = 250;
const DEFAULT_SITE = 'virtual';
const DEFAULT_DISK = 4096;

const closed = { additionalProperties: false } as const;
const whole = (minimum: number, maximum: number) => Type.Optional(Type.Integer({ minimum, maximum }));
const text = () => Type.Optional(Type.String({ maxLength: 100 }));

const MachineSection = Type.Object(
  {
    name: Type.String({ maxLength: 100 }),
    firmware: Type.Optional(Type.Enum([...FIRMWARE_KINDS])),
    memory: whole(64, 65_536),
    disk: whole(0, 1_048_576),
    cards: whole(1, 2),
    mac: text(),
    uuid: Type.Optional(Type.String({ pattern: '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$', description: 'a UUID' })),
    serial: Type.Optional(
      Type.String({ pattern: '^[A-Za-z0-9._-]{1,30}$', description: 'letters, digits, ".", "_" and "-", at most 30' }),
    ),
    boots_first: Type.Optional(Type.Enum(['disk', 'network'])),
    in_band_bmc: Type.Optional(Type.Boolean()),
    tpm: Type.Optional(Type.Boolean()),
    twin_of: text(),
    profile: text(),
    cluster: text(),
  },
  closed,
);

const RackDocument = Type.Object(
  {
    rack: Type.Object(
      {
        site: text(),
        bmc_mode: Type.Optional(Type.Enum([...BMC_MODES])),
        machines: Type.Array(MachineSection, { minItems: 1 }),
      },
      closed,
    ),
  },
  closed,
);

type MachineText = ValidPart<Static<typeof MachineSection>>;

const readStructure = structureReader(RackDocument);

/** `invalid_config` lists every problem. */
export async function readRackDefinition(file: string): Promise<RackDefinition> {
  const read = await readDocument(file);
  if (!read.ok) throw new ColdironError('invalid_config', 'the rack definition cannot be read', [read.problem]);
  const problems: string[] = [];
  const definition = rackDefinition(read.value, (at, message) => void problems.push(`${file}: ${at}: ${message}`));
  if (definition === null) throw new ColdironError('invalid_config', 'the rack definition has problems', problems);
  return definition;
}

/** Pure; null when any problem was reported. */
export function rackDefinition(value: unknown, report: Report): RackDefinition | null {
  let isValid = true;
  const problem: Report = (at, message) => {
    isValid = false;
    report(at, message);
  };
  const rack = readStructure(value, problem)?.rack;
  const sections = (rack?.machines ?? []).filter((section) => section !== undefined);
  if (sections.length > MAX_MACHINES) problem('rack.machines', `a rack has at most ${MAX_MACHINES} machines`);
  if (rack?.site !== undefined) check(parseObjectName(rack.site), 'rack.site', problem);
  const alone = sections.map((section, index) => machineOf(section, index + 1, problem));
  rejectDuplicates(alone, problem);
  const machines = alone.map((machine, index) => withTwinValues(machine, sections[index] ?? {}, alone, problem));
  if (!isValid) return null;
  return { site: rack?.site ?? DEFAULT_SITE, bmcMode: rack?.bmc_mode ?? 'real', machines };
}

/** node01, node02, … with the firmware's own PXE. */
export function identicalMachines(count: number, firmware: FirmwareKind = 'uefi-pxe', tpm = false): RackDefinition {
  if (!Number.isInteger(count) || count < 1 || count > MAX_MACHINES) {
    throw new ColdironError('usage', `a rack has 1 to ${MAX_MACHINES} machines, not ${count}`);
  }
  const sections = Array.from({ length: count }, (_, index) => ({
    name: `node${String(index + 1).padStart(2, '0')}`,
    firmware,
    tpm,
  }));
  const never: Report = (at, message) => {
    throw new Error(`the generated rack is invalid: ${at}: ${message}`);
  };
  const machines = sections.map((section, index) => machineOf(section, index + 1, never));
  return { site: DEFAULT_SITE, bmcMode: 'real', machines };
}

function machineOf(section: MachineText, number: number, problem: Report): RackedMachine {
  const at = (key: string): string => `rack.machines[${number - 1}].${key}`;
  const name = section.name ?? '';
  if (section.name !== undefined) check(parseHostname(name), at('name'), problem);
  const firmware = section.firmware ?? 'uefi-pxe';
  const inBandBmc = section.in_band_bmc ?? false;
  if (inBandBmc && firmware === 'arm64-uefi') problem(at('in_band_bmc'), 'only x86 machines have KCS');
  const first = section.mac === undefined ? cardMac(number, 0) : check(parseMac(section.mac), at('mac'), problem);
  return {
    name,
    number,
    firmware,
    memory: section.memory ?? null,
    disk: section.disk ?? DEFAULT_DISK,
    cards: [first ?? cardMac(number, 0), ...((section.cards ?? 1) === 2 ? [cardMac(number, 1)] : [])],
    uuid: section.uuid ?? `c01d1407-0000-4000-8000-${hex(number, 12)}`,
    serial: section.serial ?? `CLD${String(number).padStart(4, '0')}`,
    first: section.boots_first ?? 'disk',
    inBandBmc,
    tpm: section.tpm ?? false,
    twinOf: section.twin_of ?? null,
    profile: section.profile ?? null,
    cluster: section.cluster ?? null,
  };
}

/** What identifies a machine is copied from the other one; everything else is its own. */
function withTwinValues(
  machine: RackedMachine,
  section: MachineText,
  machines: readonly RackedMachine[],
  problem: Report,
): RackedMachine {
  if (machine.twinOf === null) return machine;
  const at = (key: string): string => `rack.machines[${machine.number - 1}].${key}`;
  for (const key of ['mac', 'uuid', 'serial', 'cards', 'profile', 'cluster'] as const) {
    if (section[key] !== undefined) problem(at(key), 'a twin has that of the other machine');
  }
  const other = machines.find(({ name, twinOf }) => name === machine.twinOf && twinOf === null);
  if (other === undefined) {
    problem(at('twin_of'), `${machine.twinOf} is not another machine of this rack that is no twin itself`);
    return machine;
  }
  const { cards, uuid, serial } = other;
  return { ...machine, cards, uuid, serial };
}

function rejectDuplicates(machines: readonly RackedMachine[], problem: Report): void {
  const seen = new Map<string, string>();
  for (const [index, { name, cards, uuid, serial }] of machines.entries()) {
    const at = `rack.machines[${index}]`;
    for (const [key, value] of [
      ['name', name],
      ['mac', cards[0]],
      ['uuid', uuid],
      ['serial', serial],
    ] as const) {
      const earlier = seen.get(`${key} ${value}`);
      if (earlier !== undefined && value !== '') problem(`${at}.${key}`, `${value} is already used by ${earlier}`);
      seen.set(`${key} ${value}`, at);
    }
  }
}

function check<T>(result: Parsed<T>, at: string, problem: Report): T | null {
  if (result.ok) return result.value;
  problem(at, result.reason);
  return null;
}

const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, '0');
const cardMac = (number: number, card: number): string => `52:54:00:77:${hex(card, 2)}:${hex(number, 2)}`;
