// A node as the API shows it.

import type { Static } from 'typebox';
import type { Intent, Node } from '../../contract/schemas/node.ts';
import { boundText, type HardwareRecord, levelOf } from '../../domain/hardware-identity.ts';
import { instantText } from '../../domain/instant.ts';
import type { ArmedIntent } from '../../domain/intent.ts';
import type { Machine } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import { pendingText } from '../../machines/commands/hardware.ts';
import { timeText } from './time-text.ts';

export function nodeView({
  id,
  spec,
  lifecycle,
  health,
  hardware,
  intent,
  allocation,
  source,
  version,
  revision,
}: Machine): Static<typeof Node.schema> {
  const { state, resume, failure, note } = lifecycle;
  return {
    id,
    hostname: spec.hostname,
    state,
    since: instantText(lifecycle.since),
    deadline: timeText(lifecycle.deadline),
    resume,
    failure,
    note,
    waits_for: STATES[state].waitsFor,
    next_step: STATES[state].nextStep,
    health,
    site: spec.site,
    sku: spec.sku,
    profile: spec.profile,
    cluster: spec.cluster,
    architecture: spec.architecture,
    uuid: spec.uuid,
    serial: spec.serial,
    secure_boot: spec.secureBoot,
    // Machines that were stored before this field existed have no value here.
    plain_pxe: spec.plainPxe ?? false,
    gpus: spec.gpus,
    region: spec.region,
    identity: identityView(hardware),
    erasure: erasureView(hardware),
    not_erased: hardware.unerased ? { at: instantText(hardware.unerased.at), reason: hardware.unerased.reason } : null,
    interfaces: spec.interfaces.map((nic) => ({ ...nic, switch: nic.switch ?? null })),
    bmc: spec.bmc && { address: spec.bmc.address, driver: spec.bmc.driver, username: spec.bmc.username },
    access: spec.access && {
      host: spec.access.host,
      port: spec.access.port,
      ssh_username: spec.access.sshUsername,
    },
    enrollment: spec.enrollment,
    maas_system_id: hardware.maas?.systemId ?? null,
    labels: { ...spec.labels },
    source,
    intent: intent && intentView(intent),
    allocation: allocation ? { id: allocation.id, user: allocation.user, state: allocation.state } : null,
    version,
    revision,
  };
}

const identityView = (hardware: HardwareRecord): Static<typeof Node.schema>['identity'] => {
  const { bound } = hardware;
  const tpm = bound?.tpm ?? null;
  return {
    level: levelOf(bound),
    summary: boundText(bound),
    bound_at: timeText(bound?.boundAt ?? null),
    uuid: bound?.uuid ?? null,
    serial: bound?.serial ?? null,
    macs: [...(bound?.macs ?? [])],
    tpm: tpm && { eks: [...tpm.eks], trust: tpm.trust, issuer: tpm.issuer, pcrs: tpm.pcrs && { ...tpm.pcrs } },
    pending: pendingText(hardware),
  };
};

const erasureView = ({ erasure }: HardwareRecord): Static<typeof Node.schema>['erasure'] => {
  if (!erasure) return null;
  const { at, session, identity, disks, overwrittenAt, check } = erasure;
  return {
    ...{ at: instantText(at), session, identity },
    disks: disks.map((disk) => ({ ...disk })),
    overwritten_at: timeText(overwrittenAt),
    check: check && { ...check, at: instantText(check.at), problems: [...check.problems] },
  };
};

const intentView = (intent: ArmedIntent): Static<typeof Intent> => ({
  id: intent.id,
  kind: intent.kind,
  profile: intent.profile,
  actor: intent.actor,
  armed_at: instantText(intent.armedAt),
  expires_at: instantText(intent.expiresAt),
  consumed_at: timeText(intent.consumedAt),
  revoked_at: timeText(intent.revokedAt),
});
