// What a machine shows when it opens a session, normalised for comparison; and the hardware that older facts describe.

import { parseChassisUuid } from '../../domain/chassis.ts';
import type { BoundHardware, ShownHardware, ShownTpm } from '../../domain/hardware-identity.ts';
import type { Instant } from '../../domain/instant.ts';
import { type Mac, parseMac } from '../../domain/mac.ts';
import { plainLine } from '../../domain/plain-line.ts';
import type { MediumShown } from './decide-opening.ts';
import type { MachineFactsBody, OpeningBody } from './reports.ts';

/** Texts that whole product lines share: they identify no machine. */
const NO_SERIALS =
  /^(?:|0+|none|n\/a|unknown|not (?:specified|applicable|available)|default string|system serial number|to be filled by o\.?e\.?m\.?|0?123456789(?:abcdef)?|chassis serial number)$/i;

export function shownHardware(
  body: OpeningBody,
  tpm: ShownTpm | null,
  tpmProblem: string | null,
  medium: MediumShown,
): ShownHardware {
  return {
    uuid: uuidOf(body.uuid),
    serial: serialOf(body.serial),
    macs: macsIn([body.mac, ...(body.macs ?? [])]),
    tpm,
    tpmProblem,
    ...(medium === 'shown' ? { medium: true } : {}),
  };
}

/** With the cards of the facts: an older image names only the card it booted from. */
export const withFacts = (shown: ShownHardware, { nics }: MachineFactsBody): ShownHardware => ({
  ...shown,
  macs: [...new Set([...shown.macs, ...macsIn(nics.map(({ mac }) => mac))])],
});

/** For machines that were commissioned before their hardware was recorded; null: the facts identify nothing. */
export function hardwareOfFacts({ system, nics }: MachineFactsBody, at: Instant): BoundHardware | null {
  const uuid = uuidOf(system?.uuid);
  const serial = serialOf(system?.serial);
  const macs = macsIn(nics.map(({ mac }) => mac));
  return uuid === null && serial === null && macs.length === 0 ? null : { uuid, serial, macs, tpm: null, boundAt: at };
}

function uuidOf(text: string | null | undefined): BoundHardware['uuid'] {
  const uuid = parseChassisUuid(text ?? '');
  return uuid.ok ? uuid.value : null;
}

function serialOf(text: string | null | undefined): string | null {
  const serial = plainLine(text ?? '').trim();
  return NO_SERIALS.test(serial) ? null : serial;
}

const macsIn = (texts: readonly (string | null | undefined)[]): Mac[] => [
  ...new Set(
    texts.flatMap((text) => {
      const mac = parseMac(text ?? '');
      return mac.ok ? [mac.value] : [];
    }),
  ),
];
