// A node as the API shows it: what was declared, where it is in its life, and what is armed for it.

import { type Static, Type } from 'typebox';
import { CPU_ARCHITECTURES } from '../../domain/architecture.ts';
import { instantText } from '../../domain/instant.ts';
import type { ArmedIntent } from '../../domain/intent.ts';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { BMC_DRIVERS, ENROLLMENT_MODES, type Machine } from '../../domain/machine.ts';
import { STATES } from '../../domain/states.ts';
import { component, nullable, refTo, Time, timeText } from './shared.ts';

const Text = nullable(Type.String());

const Intent = Type.Object({
  id: Type.String(),
  kind: Type.Enum(['deploy', 'erase']),
  profile: Text,
  actor: Type.String(),
  armed_at: Time,
  expires_at: Time,
  consumed_at: nullable(Time),
  revoked_at: nullable(Time),
});

export const Node = component(
  'Node',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    hostname: Type.String(),
    state: Type.Enum([...LIFECYCLE_STATES]),
    since: Time,
    deadline: nullable(Time),
    resume: nullable(Type.Enum([...LIFECYCLE_STATES])),
    failure: nullable(Type.Object({ step: Type.String(), reason: Type.String() })),
    note: Text,
    waits_for: Type.String({ description: 'What it waits for, in a sentence' }),
    next_step: Type.String({ description: 'What an operator can safely do next' }),
    health: Type.Enum(['unknown', 'online', 'silent']),
    site: Text,
    sku: Text,
    profile: Text,
    cluster: Text,
    architecture: Type.Enum([...CPU_ARCHITECTURES]),
    uuid: Text,
    serial: Text,
    secure_boot: nullable(Type.Boolean()),
    plain_pxe: Type.Boolean({ description: 'Its PXE ROM is told the boot file alone, without options 60 and 43' }),
    gpus: nullable(Type.Integer()),
    region: Text,
    interfaces: Type.Array(Type.Object({ name: Type.String(), mac: Text, network: Type.String(), address: Text })),
    bmc: nullable(Type.Object({ address: Type.String(), driver: Type.Enum([...BMC_DRIVERS]), username: Text })),
    access: nullable(Type.Object({ host: Type.String(), port: Type.Integer(), ssh_username: Type.String() })),
    enrollment: nullable(Type.Enum([...ENROLLMENT_MODES], { description: 'Null: as its profile says' })),
    labels: Type.Record(Type.String(), Type.String()),
    source: Type.String({ description: 'The inventory source that declares it, `api`, or `network`' }),
    intent: nullable(Intent),
    version: Type.Integer(),
    revision: Type.Integer(),
  }),
);

export const NodePage = Type.Object({
  nodes: Type.Array(refTo(Node)),
  total: Type.Integer({ description: 'How many match, on all pages' }),
  next: nullable(Type.String({ description: 'Give it as `after` to get the next page' })),
});

export const NodeReference = Type.Object({ node: Type.String({ description: 'Id, host name or MAC address' }) });

export function nodeView({
  id,
  spec,
  lifecycle,
  health,
  intent,
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
    // Machines written down before this could be said have nothing here.
    plain_pxe: spec.plainPxe ?? false,
    gpus: spec.gpus,
    region: spec.region,
    interfaces: [...spec.interfaces],
    bmc: spec.bmc && { address: spec.bmc.address, driver: spec.bmc.driver, username: spec.bmc.username },
    access: spec.access && {
      host: spec.access.host,
      port: spec.access.port,
      ssh_username: spec.access.sshUsername,
    },
    enrollment: spec.enrollment,
    labels: { ...spec.labels },
    source,
    intent: intent && intentView(intent),
    version,
    revision,
  };
}

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
