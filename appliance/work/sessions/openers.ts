// Whether whoever comes with a ticket is the machine that its script was made for.

import { parseChassisUuid } from '../../domain/chassis.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import { type Machine, macsOf } from '../../domain/machine.ts';
import { type Parsed, shown, unparsable } from '../../domain/parsed.ts';
import type { OpeningBody } from './reports.ts';

/** Where it comes from, as this appliance knows it. */
export interface SeenAt {
  readonly address: Ipv4 | null;
  /** Whose address it is; null: nobody knows. */
  readonly mac: Mac | null;
  /** Whether the address would be known here if it was given to anybody: this appliance gives out addresses on its network. */
  readonly wouldBeKnown: boolean;
}

/** The card it booted from, or why it is not the one. */
export function openerOf(machine: Machine, told: OpeningBody, seen: SeenAt): Parsed<Mac> {
  const { spec } = machine;
  const mac = parseMac(told.mac);
  if (!mac.ok) return mac;
  const macs = macsOf(spec);
  if (!macs.includes(mac.value)) return unparsable(`${mac.value} is no card of ${spec.hostname}`);
  const expected = spec.uuid ?? machine.intent?.uuid ?? null;
  if (expected !== null) {
    const uuid = parseChassisUuid(told.uuid ?? '');
    if (!uuid.ok) return unparsable(`${spec.hostname} is chassis ${expected}, and it says none: ${uuid.reason}`);
    if (uuid.value !== expected) return unparsable(`${spec.hostname} is chassis ${expected}, and it is ${uuid.value}`);
  }
  if (seen.mac !== null && !macs.includes(seen.mac)) {
    return unparsable(`it comes from ${shown(seen.address)}, which was given to ${seen.mac}`);
  }
  if (seen.mac === null && seen.wouldBeKnown) {
    return unparsable(`it comes from ${shown(seen.address ?? 'an unknown address')}, which was given to nobody`);
  }
  return mac;
}
