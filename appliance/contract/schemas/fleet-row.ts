// One compact row per node, for lists and live views. Everything in it is in memory, so a row of 10,000 nodes costs little. Text that
// a machine supplied is one plain line.

import { Type } from 'typebox';
import { CPU_ARCHITECTURES } from '../../domain/architecture.ts';
import { CABLE_VERDICTS } from '../../domain/cabling.ts';
import { IDENTITY_LEVELS } from '../../domain/hardware-identity.ts';
import { FAILED_STEPS, LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { component, nullable, Time } from './shared.ts';

const Text = nullable(Type.String());

const RowProgress = Type.Object(
  {
    step: Type.String(),
    percent: nullable(Type.Number({ minimum: 0, maximum: 100 })),
    detail: nullable(Type.String({ description: 'What the machine says about the step' })),
  },
  { description: 'The last report of the running session' },
);

const RowIdentity = Type.Object({
  level: Type.Enum([...IDENTITY_LEVELS], { description: 'The strongest proof of identity that its sessions can give' }),
  tpm: nullable(
    Type.Enum(['declared', 'vendor', 'accepted', 'nobody'], { description: 'Who vouches for its TPM; null: no TPM' }),
  ),
});

const RowArmed = Type.Object(
  {
    what: Type.Enum(['deploy', 'erase']),
    profile: Text,
    by: Type.String({ description: 'The actor who armed it' }),
    until: Type.String({ format: 'date-time', description: 'After this time it is no longer valid' }),
  },
  { description: 'An intent that was neither consumed nor revoked' },
);

const RowCabling = Type.Object(
  {
    verdict: Type.Enum([...CABLE_VERDICTS], {
      description: 'The worst of its interfaces whose switch port is declared',
    }),
    summary: Type.String(),
  },
  { description: 'Null: no switch port is declared, or no session has reported yet' },
);

export const FleetRow = component(
  'FleetRow',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    hostname: Type.String(),
    version: Type.Integer({ description: 'For If-Match' }),
    state: Type.Enum([...LIFECYCLE_STATES]),
    state_since: Time,
    deadline: nullable(Time),
    waiting_for: Type.String({ description: 'What it waits for, in a sentence' }),
    failed_step: nullable(Type.Enum([...FAILED_STEPS])),
    reason: nullable(Type.String({ description: 'Why it has failed, or is quarantined, retired or in rescue' })),
    progress: nullable(RowProgress),
    health: Type.Enum(['unknown', 'online', 'silent']),
    site: Text,
    rack: nullable(Type.String({ description: 'The label `rack`' })),
    unit: nullable(Type.String({ description: 'The label `unit`' })),
    profile: Text,
    sku: Text,
    cluster: Text,
    arch: nullable(Type.Enum([...CPU_ARCHITECTURES])),
    serial: Text,
    labels: Type.Record(Type.String(), Type.String()),
    mac: nullable(Type.String({ description: 'Of its boot interface' })),
    address: nullable(Type.String({ description: 'Declared address of its boot interface' })),
    bmc_address: Text,
    identity: RowIdentity,
    armed: nullable(RowArmed),
    not_erased: Type.Boolean({ description: 'It was released with its data on the disks' }),
    cabling: nullable(RowCabling),
    allocated_to: nullable(Type.String({ description: 'The user of its open allocation' })),
  }),
);
