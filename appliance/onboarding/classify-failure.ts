// The class of a failure, from evidence: the causes of the diagnosis first, then the failed step of the service OS, then the recorded
// reason. Only a class decides whether a run is tried again, never the text of a message alone.

import { CONSOLE_SIGNATURES } from '../domain/console/signatures.ts';
import type { FailureClass } from '../domain/onboarding.ts';
import type { Cause } from '../trail/diagnosis/cause.ts';
import { ADDRESS_CAUSES } from '../trail/diagnosis/causes/address-causes.ts';
import { APPLIANCE_CAUSES } from '../trail/diagnosis/causes/appliance-causes.ts';
import { LOADER_CAUSES } from '../trail/diagnosis/causes/loader-causes.ts';
import { NEIGHBOUR_CAUSES } from '../trail/diagnosis/causes/neighbour-causes.ts';
import { NODE_CAUSES } from '../trail/diagnosis/causes/node-causes.ts';
import { POWER_CAUSES } from '../trail/diagnosis/causes/power-causes.ts';
import { SYSTEM_CAUSES } from '../trail/diagnosis/causes/system-causes.ts';

/** A cause of the diagnosis, as far as it matters here. */
export interface FoundCause {
  readonly id: string;
  readonly reason: string;
  /** It explains why the machine stopped where it did. */
  readonly explains: boolean;
  readonly evidence: readonly { readonly words: string }[];
}

export interface FailureEvidence {
  /** The most likely first. */
  readonly causes: readonly FoundCause[];
  /** The step of the service OS that failed; null: none did. */
  readonly step: string | null;
  /** As recorded, for people. */
  readonly reason: string;
}

export interface ClassifiedFailure {
  readonly class: FailureClass;
  readonly cause: string | null;
  readonly reason: string;
}

/** A cause that is not listed has the class of its group. */
const CLASS_OF_CAUSE: Readonly<Record<string, FailureClass>> = {
  'no-boot-file': 'image',
  'boot-file-damaged': 'image',
  'loader-rejected': 'image',
  'image-broken-off': 'network',
  'image-hash-wrong': 'image',
  'kernel-not-fetched': 'network',
  'sent-elsewhere': 'unknown',
  'system-without-appliance': 'network',
  'disk-not-found': 'disk',
  'disk-too-small': 'disk',
  'call-home-failed': 'network',
  'bmc-unreachable': 'bmc',
  'boot-override-ignored': 'bmc',
  'power-failed': 'bmc',
  'listener-missing': 'network',
  restarted: 'power',
  'no-first-boot': 'disk',
  'boots-network-again': 'disk',
  'appliance-disk-full': 'unknown',
  'appliance-clock-wrong': 'enrollment',
  'screen-cloud-init-no-source': 'datasource',
  'screen-cloud-init-yaml': 'datasource',
  'screen-cloud-init-failed': 'datasource',
  'screen-cloud-init-status': 'datasource',
  'screen-agent-no-reply': 'network',
  'screen-agent-refused': 'enrollment',
  'screen-agent-clock': 'enrollment',
  'screen-no-space': 'disk',
  'screen-card-timeout': 'network',
  'screen-card-firmware-missing': 'network',
  'screen-bios-disk-not-bootable': 'disk',
};

/** Causes of one group that no rule above names. */
const GROUPS: readonly (readonly [readonly Cause[], FailureClass])[] = [
  [ADDRESS_CAUSES, 'network'],
  [LOADER_CAUSES, 'network'],
  [SYSTEM_CAUSES, 'image'],
  [POWER_CAUSES, 'power'],
  [NODE_CAUSES, 'enrollment'],
  [NEIGHBOUR_CAUSES, 'network'],
  [APPLIANCE_CAUSES, 'unknown'],
];

const CLASS_OF_GROUP: ReadonlyMap<string, FailureClass> = new Map(
  GROUPS.flatMap(([causes, about]) => causes.map(({ id }): [string, FailureClass] => [id, about])),
);

/** Lines on the screen that no rule above names, by what prints them. */
const CLASS_OF_SCREEN: ReadonlyMap<string, FailureClass> = new Map(
  CONSOLE_SIGNATURES.map(({ id, stage }): [string, FailureClass] => {
    if (/disk|ata-|nvme|file-system|xfs|fsck|root-device|device-timeout|dracut/.test(id))
      return [`screen-${id}`, 'disk'];
    if (stage === 'firmware' || /^(ipxe|pxe|grub-network|no-|curl)/.test(id)) return [`screen-${id}`, 'network'];
    return [`screen-${id}`, stage === 'loader' || stage === 'initramfs' ? 'image' : 'unknown'];
  }),
);

const CLASS_OF_STEP: Readonly<Record<string, FailureClass>> = {
  rehearse: 'network',
  'choose-disk': 'disk',
  'write-image': 'image',
  'check-image-sum': 'image',
  'verify-image': 'image',
  grow: 'disk',
  seed: 'datasource',
  'boot-entry': 'disk',
};

export function classified({ causes, step, reason }: FailureEvidence): ClassifiedFailure {
  for (const cause of causes.filter(({ explains }) => explains)) {
    const about = classOfCause(cause);
    if (about !== 'unknown') return { class: about, cause: cause.id, reason: cause.reason };
  }
  const about = (step !== null && classOfStep(step)) || classOfReason(reason);
  return { class: about, cause: causes[0]?.id ?? null, reason };
}

export function classOfCause({ id, evidence }: Pick<FoundCause, 'id' | 'evidence'>): FailureClass {
  if (id === 'screen-first-boot-failed' || id === 'first-boot-part-failed') return classOfPart(evidence);
  return CLASS_OF_CAUSE[id] ?? CLASS_OF_GROUP.get(id) ?? CLASS_OF_SCREEN.get(id) ?? 'unknown';
}

/** The part of the first boot that failed names itself, on the screen and in its report; its output follows and may say anything. */
function classOfPart(evidence: FoundCause['evidence']): FailureClass {
  const named = evidence.some(({ words }) => words.includes('"part":"site-bootstrap"'));
  const reported = evidence[0]?.words.startsWith('site-bootstrap/') === true;
  return named || reported ? 'site-bootstrap' : 'node-bootstrap';
}

const classOfStep = (step: string): FailureClass | undefined =>
  step.startsWith('erase') ? 'disk' : CLASS_OF_STEP[step.split(':', 1)[0] ?? step];

/** cloud-init names its fault in the reason that an installer passes on. */
const classOfReason = (reason: string): FailureClass => (/\bdata ?source/i.test(reason) ? 'datasource' : 'unknown');
