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
  readonly medium: MediumShown;
}

/**
 * What the machine shows of the medium of its boot.
 *   none     there is no medium: it was not needed, or could not be inserted
 *   shown    it has the secret of the medium
 *   unread   it has none; the BMC said that it inserted the medium, but never read from it
 *   missing  it has none; the BMC has read from the medium
 *   other    it has the secret of another medium
 *   used     the secret of the medium has opened another session
 */
export type MediumShown = 'none' | 'shown' | 'unread' | 'missing' | 'other' | 'used';

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
  const { hostname, mode, required, shown, bound } = question;
  const needsNothing = mode === 'install' && required === 'asserted';
  const wrong = needsNothing ? null : (imageProblem(question) ?? mediumProblem(question));
  if (wrong !== null) return { outcome: 'refuse', reason: `${hostname}: ${wrong}`, keep: false };
  const differences = differencesOf(question);
  if (differences.length > 0 && !needsNothing) {
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
  'the image that it started cannot show its TPM or its medium: build the service OS again (coldiron assets build), or import a newer installer';

const imageProblem = (question: OpeningQuestion): string | null =>
  !question.showsAll && (question.bound?.tpm || question.declared.length > 0 || lacksMedium(question)) ? TOO_OLD : null;

/** A medium is used once: whoever opens another session of the same boot must not pass for the machine that had it. */
function mediumProblem({ medium }: OpeningQuestion): string | null {
  if (medium === 'used')
    return 'the secret that its BMC was given for this boot has opened a session before. Start the work again, for a new one';
  return medium === 'other'
    ? 'it has the secret of another medium than the one of this boot: remove the medium with the label COLDIRON from its drives, and boot it again'
    : null;
}

/** It has shown a medium before, so that its drive works. */
const lacksMedium = ({ bound, medium }: OpeningQuestion): boolean => medium === 'missing' && bound?.medium === true;

function differencesOf(question: OpeningQuestion): HardwareDifference[] {
  const differences = recordedDifferences(question);
  if (!lacksMedium(question)) return differences;
  return [...differences, { field: 'medium', recorded: 'shown', found: 'none, although its BMC has read it' }];
}

/** A TPM that the inventory declares is expected from the first boot on. */
function recordedDifferences({ bound, declared, shown, showsAll }: OpeningQuestion): HardwareDifference[] {
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
  if (differences.length > 0) return 'asserted';
  if (isTrustedTpm(question)) return 'tpm';
  if (question.medium === 'shown') return 'media';
  return question.bound === null ? 'asserted' : 'bound';
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
  if (required === 'media')
    return `profile ${profile} requires a secret through the BMC (identity: media), and ${NO_SECRET[question.medium]}`;
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

const NO_SECRET: Readonly<Record<MediumShown, string>> = {
  none: 'its BMC was given none: the trail says why',
  unread: 'its BMC said that it inserted the medium, but never read from it',
  missing: 'this machine does not see the medium that its BMC has read',
  shown: 'other hardware shows it',
  other: 'it has the secret of another medium',
  used: 'its secret was used',
};

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
