// The facts of a machine compared with its declaration. Nothing is corrected: an operator decides which is right.

import { parseChassisUuid } from '../../domain/chassis.ts';
import { parseMac } from '../../domain/mac.ts';
import { type MachineSpec, macsOf } from '../../domain/machine.ts';
import { shown } from '../../domain/parsed.ts';
import type { MachineFactsBody } from './reports.ts';

export interface Contradiction {
  readonly field: string;
  readonly declared: string;
  readonly found: string;
}

export function contradictions(spec: MachineSpec, facts: MachineFactsBody): Contradiction[] {
  const mismatches: Contradiction[] = [];
  const compare = (field: string, declared: unknown, seen: unknown): void => {
    if (declared === null || declared === undefined || seen === null || seen === undefined || declared === seen) return;
    mismatches.push({ field, declared: String(declared), found: shown(String(seen)) });
  };
  compare('serial', spec.serial, facts.system?.serial);
  compare('uuid', spec.uuid, canonicalUuid(facts.system?.uuid));
  compare('architecture', spec.architecture, cpuOf(facts.cpu?.architecture));
  compare('secure_boot', spec.secureBoot, facts.firmware?.secure_boot);
  compare('bmc.address', spec.bmc?.address, facts.bmc?.address);
  return [...mismatches, ...missingCards(spec, facts)];
}

/** A declared card that is not in the machine means a wrong cable, a wrong slot or a wrong machine. */
function missingCards(spec: MachineSpec, { nics }: MachineFactsBody): Contradiction[] {
  const there = new Set(nics.flatMap(({ mac }) => canonicalMac(mac) ?? []));
  return macsOf(spec)
    .filter((mac) => !there.has(mac))
    .map((mac) => ({
      field: `interfaces.${spec.interfaces.find((card) => card.mac === mac)?.name ?? mac}.mac`,
      declared: mac,
      found: there.size === 0 ? 'no card' : [...there].join(', '),
    }));
}

function canonicalMac(text: string | null | undefined): string | null {
  const mac = parseMac(text ?? '');
  return mac.ok ? mac.value : null;
}

function canonicalUuid(text: string | null | undefined): string | null {
  const uuid = parseChassisUuid(text ?? '');
  return uuid.ok ? uuid.value : null;
}

/** The output of `uname -m`, as the inventory names it. */
const UNAME: Readonly<Record<string, string>> = {
  aarch64: 'arm64',
  armv7l: 'arm32',
  i686: 'i386',
  loongarch64: 'loong64',
};
const cpuOf = (uname: string | null | undefined): string | null => (uname ? (UNAME[uname] ?? uname) : null);
