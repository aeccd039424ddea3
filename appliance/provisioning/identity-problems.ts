// What a machine could not prove when it opens the session of an installation, known before it begins. Pure.

import type { RequiredIdentity } from '../domain/hardware-identity.ts';
import type { Machine } from '../domain/machine.ts';

export interface IdentityOutlook {
  readonly machine: Machine;
  readonly profile: string;
  readonly required: RequiredIdentity;
  /** Facts of an older version are as good as the record. */
  readonly inspected: boolean;
  /** Sessions are encrypted. */
  readonly hasNodeApi: boolean;
  /** Why its BMC has no drive for a medium; null: it may have one. */
  readonly driveProblem: string | null;
}

export function identityProblems(outlook: IdentityOutlook): string[] {
  const { machine, required, inspected } = outlook;
  if (required === 'asserted') return [];
  const isRecorded = machine.hardware.bound !== null || inspected;
  return [
    ...(isRecorded ? [] : ['its hardware was never recorded: commission it first']),
    ...(required === 'tpm' ? tpmProblems(outlook, isRecorded) : []),
    ...(required === 'media' ? mediumProblems(outlook) : []),
  ];
}

function tpmProblems({ machine, profile, hasNodeApi }: IdentityOutlook, isRecorded: boolean): string[] {
  const rule = `profile ${profile} requires a TPM (identity: tpm)`;
  return [
    ...unencrypted(rule, hasNodeApi),
    ...(isRecorded && !machine.hardware.bound?.tpm
      ? [
          `${rule}, and it showed none when it was commissioned: switch it on in the firmware setup, commission it again`,
        ]
      : []),
    ...unaccepted(rule, machine),
  ];
}

/** A machine with a TPM gets no medium, because its TPM proves more. */
function mediumProblems({ machine, profile, hasNodeApi, driveProblem }: IdentityOutlook): string[] {
  const rule = `profile ${profile} requires a secret through the BMC, or a TPM (identity: media)`;
  const hasTpm = machine.hardware.bound?.tpm || machine.spec.tpm.length > 0;
  return [
    ...unencrypted(rule, hasNodeApi),
    ...(hasTpm ? unaccepted(rule, machine) : []),
    ...(!hasTpm && driveProblem !== null ? [`${rule}, and it has no TPM, and no virtual drive: ${driveProblem}`] : []),
  ];
}

const unencrypted = (rule: string, hasNodeApi: boolean): string[] =>
  hasNodeApi ? [] : [`${rule}, and sessions are not encrypted: set listen.node in the site file`];

const unaccepted = (rule: string, { hardware, spec }: Machine): string[] =>
  hardware.bound?.tpm?.trust === 'nobody' && spec.tpm.length === 0
    ? [`${rule}, and nobody has accepted its TPM yet: coldiron nodes rebind ${spec.hostname}`]
    : [];
