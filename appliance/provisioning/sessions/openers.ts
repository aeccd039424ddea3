// Whether the client that presents a ticket is the machine that the ticket was issued for.

import { parseChassisUuid } from '../../domain/chassis.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import { type Machine, macsOf } from '../../domain/machine.ts';
import { type Parsed, shown, unparsable } from '../../domain/parsed.ts';
import type { OpeningBody } from './reports.ts';

/** The source of the request, as this appliance knows it. */
export interface SeenAt {
  readonly address: Ipv4 | null;
  /** The holder of the address; null: unknown. */
  readonly mac: Mac | null;
  /** The card that answers for the address on a directly attached network; null: behind a router, or not known. */
  readonly neighbour: Mac | null;
  /** Whether a holder would be known: this appliance assigns the addresses of this network. */
  readonly wouldBeKnown: boolean;
}

/** The card it booted from, or why it is another machine. */
export function openerOf(machine: Machine, body: OpeningBody, seen: SeenAt): Parsed<Mac> {
  const { spec } = machine;
  const mac = parseMac(body.mac);
  if (!mac.ok) return mac;
  const macs = macsOf(spec);
  if (!macs.includes(mac.value)) return unparsable(`${mac.value} is not a card of ${spec.hostname}`);
  const expected = spec.uuid ?? machine.intent?.uuid ?? null;
  // The recorded UUID is compared with the rest of the recorded hardware, and a difference has other consequences.
  if (expected !== null && expected !== machine.hardware.bound?.uuid) {
    const uuid = parseChassisUuid(body.uuid ?? '');
    if (!uuid.ok)
      return unparsable(`${spec.hostname} is chassis ${expected}, but the request has no valid UUID: ${uuid.reason}`);
    if (uuid.value !== expected)
      return unparsable(`${spec.hostname} is chassis ${expected}, but the request says ${uuid.value}`);
  }
  const elsewhere = sourceProblem(machine, seen);
  return elsewhere === null ? mac : unparsable(elsewhere);
}

/** Why a request does not come from a card of this machine; null: it does, or the appliance cannot know. */
export function sourceProblem(machine: Machine, seen: SeenAt): string | null {
  const { spec } = machine;
  if (seen.mac !== null && !macsOf(spec).includes(seen.mac)) {
    return `it comes from ${shown(seen.address)}, which is leased to ${seen.mac}`;
  }
  if (seen.mac === null && seen.wouldBeKnown) {
    return `it comes from ${shown(seen.address ?? 'an unknown address')}, which is not leased`;
  }
  return neighbourProblem(machine, seen);
}

/** On our own wire the kernel knows which card sends: a packet can claim another MAC, its frames come from one all the same. */
export function neighbourProblem(
  { spec, hardware }: Machine,
  { address, neighbour }: Pick<SeenAt, 'address' | 'neighbour'>,
): string | null {
  if (neighbour === null) return null;
  const cards = [...macsOf(spec), ...(hardware.bound?.macs ?? [])];
  return cards.includes(neighbour)
    ? null
    : `it comes from ${shown(address)}, where the card ${neighbour} answers, which is not a card of ${spec.hostname}`;
}
