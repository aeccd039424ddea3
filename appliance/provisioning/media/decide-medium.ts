// When a network boot needs a medium, when the medium has to go, and what an opening shows of it. Pure.

import type { RequiredIdentity } from '../../domain/hardware-identity.ts';
import { HOUR, type Instant } from '../../domain/instant.ts';
import type { Ipv4 } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import { purposeOf, type SiteNetwork } from '../../domain/network.ts';
import { type Parsed, parsed, unparsable } from '../../domain/parsed.ts';
import type { SessionId } from '../../domain/session.ts';
import type { SessionMedium } from '../../domain/session-medium.ts';
import { STATES } from '../../domain/states.ts';
import type { MediumShown } from '../sessions/decide-opening.ts';

/** Not for a machine with a TPM, which proves more, and not for an installation that requires no identity. */
export function needsMedium({ lifecycle, hardware, spec }: Machine, required: RequiredIdentity): boolean {
  const session = STATES[lifecycle.state].session;
  if (session === null || hardware.bound?.tpm || spec.tpm.length > 0) return false;
  return !(session.mode === 'install' && required === 'asserted');
}

/** A medium lasts no longer than the state that the machine boots for. */
export const mediumEnd = ({ lifecycle }: Machine, now: Instant): Instant => lifecycle.deadline ?? now + HOUR;

/** Its secret was used, or can no longer be. */
export function isMediumOver(medium: SessionMedium, machine: Machine | null, now: Instant): boolean {
  if (medium.endedAt !== null || medium.usedBy !== null || now >= medium.expiresAt) return true;
  if (machine === null || machine.lifecycle.fallbackUsed) return true;
  return !isOfVisit(medium, machine);
}

const isOfVisit = ({ since }: SessionMedium, { lifecycle }: Machine): boolean =>
  since === lifecycle.since && STATES[lifecycle.state].session !== null;

/** `shown`: SHA-256 of the secret that the machine has; null: none. */
export function mediumShown(
  medium: SessionMedium | null,
  machine: Machine,
  opening: { readonly shown: string | null; readonly hash: string; readonly session: SessionId; readonly now: Instant },
): MediumShown {
  if (medium === null || medium.insertedAt === null || !isOfVisit(medium, machine)) return 'none';
  if (medium.usedBy !== null && medium.usedBy !== opening.session) return 'used';
  if (opening.now >= medium.expiresAt) return 'none';
  if (opening.shown === opening.hash) return 'shown';
  if (opening.shown !== null) return 'other';
  return medium.fetchedAt === null ? 'unread' : 'missing';
}

export interface MediumPlace {
  readonly bmc: Ipv4;
  /** The address of this appliance from which packets to the BMC leave; null: there is no route. */
  readonly local: Ipv4 | null;
  /** The port of the boot server; null: it is off. */
  readonly port: number | null;
  readonly networkOf: (address: Ipv4) => SiteNetwork | null;
}

/** Where the BMC fetches the medium, or why it must not: on a provisioning network every machine could read it. */
export function mediumOrigin({ bmc, local, port, networkOf }: MediumPlace): Parsed<{ address: Ipv4; port: number }> {
  if (port === null) return unparsable('the boot server is off (listen.boot)');
  if (local === null) return unparsable(`there is no route to ${bmc}`);
  for (const address of [local, bmc]) {
    const network = networkOf(address);
    if (network !== null && purposeOf(network) === 'provisioning') {
      return unparsable(
        `the BMC ${bmc} is reached through the provisioning network ${network.name}, where other machines could read it`,
      );
    }
  }
  return parsed({ address: local, port });
}
