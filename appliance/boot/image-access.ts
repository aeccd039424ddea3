// Which kernels, initrds and images a client may load over TFTP. Only a machine under Secure Boot needs any: the signed GRUB
// supports nothing else; every other machine has iPXE and HTTP. A TFTP request has only a name and an address, so access
// follows from the decision about the holder of the address, and from the configuration that was issued to that address.

import type { ChassisUuid } from '../domain/chassis.ts';
import { type Instant, MINUTE } from '../domain/instant.ts';
import type { Mac } from '../domain/mac.ts';
import type { Because } from './because.ts';
import type { ResolvedBoot } from './boot-resolver.ts';
import type { Outcome } from './decide-boot.ts';
import { startsOurCode } from './startability.ts';

/** A configuration that was issued to an address: it consumed the intent of an installation, whose images are loaded next. */
export interface IssuedConfig {
  readonly outcome: Outcome;
  /** As the machine reported it: an address behind a router identifies no machine. */
  readonly mac: Mac | null;
  readonly uuid: ChassisUuid | null;
  /** The holder of the address at that time, if known. */
  readonly holder: Mac | null;
  readonly until: Instant;
}

/** Long enough to load a kernel and an initrd over the slowest link that still boots. */
const ACCESS_FOR = 30 * MINUTE;

/** The record of a configuration; null: its outcome loads no images. */
export function issuedConfig(
  outcome: Outcome,
  { mac, uuid }: Pick<IssuedConfig, 'mac' | 'uuid'>,
  holder: Mac | null,
  now: Instant,
): IssuedConfig | null {
  return startsOurCode(outcome) ? { outcome, mac, uuid, holder, until: now + ACCESS_FOR } : null;
}

/** Whether a configuration is still valid for the current holder of its address. */
export function isInForce(issued: IssuedConfig, holder: Mac | null, now: Instant): boolean {
  // The address may belong to another machine since.
  const sameHolder = issued.holder === null || holder === null || issued.holder === holder;
  return sameHolder && now < issued.until;
}

export interface ImageQuestion {
  /** The library's name of the image. */
  readonly asset: string;
  /** The holder of the address; null: unknown. */
  readonly holder: Mac | null;
  /** The decision about the holder. */
  readonly current: ResolvedBoot;
  /** The configuration in force at this address, and the current decision about the machine that it was issued to. */
  readonly issued: { readonly outcome: Outcome; readonly since: ResolvedBoot } | null;
}

export type ImageAccess = { readonly allowed: true } | { readonly allowed: false; readonly because: Because };

export function decideImageAccess({ asset, holder, current, issued }: ImageQuestion): ImageAccess {
  // An address without a known holder counts as an unknown machine's, until a machine identifies itself there.
  const concerned = issued === null ? [current] : holder === null ? [issued.since] : [current, issued.since];
  const denied = concerned.find(({ decision: { outcome } }) => outcome.kind === 'refusal' || outcome.kind === 'silent');
  const outcomes = [current.decision.outcome, ...(issued === null ? [] : [issued.outcome])];
  // A machine that got a GRUB configuration runs GRUB, whatever the inventory says about Secure Boot.
  const hasGrub = issued !== null || bootsThroughGrub(current);
  if (!denied && hasGrub && outcomes.some((outcome) => loads(asset, outcome))) return { allowed: true };
  const about = denied ?? (holder === null && issued !== null ? issued.since : current);
  return { allowed: false, because: about.decision.because };
}

const bootsThroughGrub = ({ machine, network }: ResolvedBoot): boolean =>
  machine?.spec.secureBoot ?? network?.secureBoot ?? false;

function loads(asset: string, outcome: Outcome): boolean {
  if (outcome.kind === 'installer' && asset.startsWith(`nixos/${outcome.profile}/`)) return true;
  // The service OS is an image too; it writes cloud images to disk.
  return startsOurCode(outcome) && asset.startsWith('images/');
}
