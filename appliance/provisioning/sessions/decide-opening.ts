// Whether a machine with a valid ticket may open its session, and how its key is delivered. Pure: what the machine showed and
// what is recorded of it decide.

import {
  type BoundHardware,
  changedPcrs,
  differencesText,
  type EkFingerprint,
  ekText,
  type HardwareDifference,
  hardwareDifferences,
  type IdentityLevel,
  isAtLeast,
  type RequiredIdentity,
  type ShownHardware,
} from '../../domain/hardware-identity.ts';
import type { SessionIdentity, SessionMode } from '../../domain/session.ts';

export interface OpeningQuestion {
  readonly hostname: string;
  readonly mode: SessionMode;
  /** The profile of the installation, and what it requires. */
  readonly profile: string | null;
  readonly required: RequiredIdentity;
  readonly requiredPcrs: readonly number[];
  /** The endorsement keys in the inventory. */
  readonly declared: readonly EkFingerprint[];
  readonly bound: BoundHardware | null;
  readonly shown: ShownHardware;
  /** The shown endorsement keys that a vendor whom the site trusts has signed. */
  readonly signed: readonly EkFingerprint[];
  /** False: it started an image that lists neither its cards nor its TPM. */
  readonly showsAll: boolean;
  /** The machine has the secret that was put on its virtual medium. */
  readonly hasMedium: boolean;
}

export type OpeningDecision =
  | {
      readonly outcome: 'open';
      readonly level: IdentityLevel;
      readonly key: SessionIdentity['key'];
      /** The endorsement key that the session key is encrypted for; null: it is not for a TPM. */
      readonly ek: EkFingerprint | null;
      /** The PCRs that differ from the accepted values. */
      readonly changedPcrs: readonly number[];
    }
  /** `keep`: the hardware is recorded, so that a person can accept it. */
  | { readonly outcome: 'refuse'; readonly reason: string; readonly keep: boolean }
  | { readonly outcome: 'quarantine'; readonly reason: string; readonly differences: readonly HardwareDifference[] };

export function decideOpening(question: OpeningQuestion): OpeningDecision {
  const { hostname, mode, required, shown, showsAll, bound, declared } = question;
  if (!showsAll && (bound?.tpm || declared.length > 0) && !(mode === 'install' && required === 'asserted')) {
    return { outcome: 'refuse', reason: `${hostname}: ${TOO_OLD}`, keep: false };
  }
  const differences = differencesOf(question);
  if (differences.length > 0 && !(mode === 'install' && required === 'asserted')) {
    const recorded = bound === null ? 'the inventory' : 'the hardware that was recorded when it was commissioned';
    return {
      outcome: 'quarantine',
      reason: `the machine is not ${recorded}: ${differencesText(differences)}`,
      differences,
    };
  }
  const level = levelOf(question, differences);
  const problem = mode === 'install' ? installProblem(question, level) : null;
  if (problem !== null) return { outcome: 'refuse', reason: `${hostname}: ${problem}`, keep: false };
  const changed = bound?.tpm?.pcrs && shown.tpm?.pcrs ? changedPcrs(bound.tpm.pcrs, shown.tpm.pcrs) : [];
  const gate = mode === 'install' ? pcrProblem(question, changed) : null;
  if (gate !== null) return { outcome: 'refuse', reason: `${hostname}: ${gate}`, keep: true };
  return { outcome: 'open', level, key: keyOf(question, level), ek: chosenEk(question), changedPcrs: changed };
}

const TOO_OLD =
  'the image that it started cannot show its TPM: build the service OS again (coldiron assets build), or import a newer installer';

/** A TPM that the inventory declares is expected from the first boot on. */
function differencesOf({ bound, declared, shown, showsAll }: OpeningQuestion): HardwareDifference[] {
  const found = bound === null ? [] : hardwareDifferences(showsAll ? bound : inPart(bound, shown), shown);
  const known = found.some(({ field }) => field === 'tpm');
  if (known || !showsAll || declared.length === 0 || shown.tpm?.eks.some((ek) => declared.includes(ek))) return found;
  const seen =
    shown.tpm === null ? `none${shown.tpmProblem === null ? '' : ` (${shown.tpmProblem})`}` : ekText(shown.tpm.eks);
  return [...found, { field: 'tpm', recorded: ekText(declared), found: seen }];
}

/** What can be compared with a machine that names only the card it booted from. */
function inPart(bound: BoundHardware, { macs }: ShownHardware): BoundHardware {
  return { ...bound, tpm: null, macs: bound.macs.some((mac) => macs.includes(mac)) ? [] : bound.macs };
}

function levelOf(question: OpeningQuestion, differences: readonly HardwareDifference[]): IdentityLevel {
  const { bound, hasMedium } = question;
  if (differences.length > 0) return 'asserted';
  if (isTrustedTpm(question)) return 'tpm';
  if (bound === null) return 'asserted';
  return hasMedium ? 'media' : 'bound';
}

/**
 * Public keys are no secret, and a machine may show those of another TPM beside its own. So what is proved is only what the TPM
 * with the chosen key proves: of the keys that are expected from this machine, one that somebody vouches for.
 */
function chosenEk(question: OpeningQuestion): EkFingerprint | null {
  const { shown, bound, declared, signed } = question;
  const eks = shown.tpm?.eks ?? [];
  const known = [...declared, ...(bound?.tpm?.eks ?? [])];
  const expected = eks.filter((ek) => known.includes(ek));
  const candidates = expected.length > 0 ? expected : eks;
  return (
    candidates.find((ek) => declared.includes(ek)) ??
    candidates.find((ek) => signed.includes(ek)) ??
    candidates[0] ??
    null
  );
}

function isTrustedTpm(question: OpeningQuestion): boolean {
  const { declared, signed, bound } = question;
  const ek = chosenEk(question);
  if (ek === null) return false;
  if (declared.includes(ek) || signed.includes(ek)) return true;
  const known = bound?.tpm ?? null;
  return known !== null && known.trust !== 'nobody' && known.eks.includes(ek);
}

/** Every machine with a TPM gets its key through it, also before anybody vouches for that TPM. */
function keyOf({ shown }: OpeningQuestion, level: IdentityLevel): SessionIdentity['key'] {
  if (shown.tpm !== null) return 'tpm';
  return level === 'media' ? 'media' : 'clear';
}

function installProblem(question: OpeningQuestion, level: IdentityLevel): string | null {
  const { profile, required, shown, bound } = question;
  if (isAtLeast(level, required)) return null;
  if (required === 'bound') return 'its hardware was never recorded: commission it first';
  const rule = `profile ${profile} requires a TPM (identity: tpm)`;
  if (shown.tpm === null) {
    return shown.tpmProblem === null
      ? `${rule}, and this machine has none: switch it on in the firmware setup, or use another profile`
      : `${rule}, and the TPM of this machine cannot be used: ${shown.tpmProblem}`;
  }
  return bound?.tpm
    ? `${rule}, and nobody has accepted its TPM ${ekText(shown.tpm.eks)} yet: coldiron nodes rebind`
    : `${rule}, and its TPM ${ekText(shown.tpm.eks)} was never recorded: commission it first`;
}

function pcrProblem(
  { profile, requiredPcrs, bound, shown }: OpeningQuestion,
  changed: readonly number[],
): string | null {
  if (requiredPcrs.length === 0) return null;
  const rule = `profile ${profile} requires accepted values of PCR ${requiredPcrs.join(', ')} (required_pcrs)`;
  if (!shown.tpm?.pcrs) return `${rule}, and the machine sent no valid quote of them`;
  if (!bound?.tpm?.pcrs) return `${rule}, and none were recorded: commission it first`;
  const wrong = requiredPcrs.filter((index) => changed.includes(index));
  return wrong.length === 0
    ? null
    : `${rule}, and PCR ${wrong.join(', ')} changed: its firmware or boot configuration is another one. If that is right, accept it: coldiron nodes rebind`;
}
