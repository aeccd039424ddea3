// A node as the API shows it: its declaration, its lifecycle state, and its armed intent.

import { Type } from 'typebox';
import { ALLOCATION_STATE_NAMES } from '../../domain/allocation.ts';
import { CPU_ARCHITECTURES } from '../../domain/architecture.ts';
import { ERASURE_RESULTS } from '../../domain/erasure.ts';
import { NodeSystem } from '../../domain/events/node-system.ts';
import { IDENTITY_LEVELS } from '../../domain/hardware-identity.ts';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { BMC_DRIVERS, ENROLLMENT_MODES } from '../../domain/machine.ts';
import { SESSION_MODES } from '../../domain/session.ts';
import { SwitchPort } from './cabling.ts';
import { component, nullable, PageSize, refTo, Time } from './shared.ts';

const Text = nullable(Type.String());

export const Intent = Type.Object({
  id: Type.String(),
  kind: Type.Enum(['deploy', 'erase']),
  profile: Text,
  actor: Type.String(),
  armed_at: Time,
  expires_at: Time,
  consumed_at: nullable(Time),
  revoked_at: nullable(Time),
});

const Digest = Type.String({ description: 'SHA-256, hexadecimal' });

const NodeIdentity = Type.Object({
  level: Type.Enum([...IDENTITY_LEVELS], { description: 'The strongest proof of identity that its sessions can give' }),
  summary: Type.String({ description: 'How its identity was established, in a sentence' }),
  bound_at: nullable(Time),
  uuid: Text,
  serial: Text,
  macs: Type.Array(Type.String()),
  tpm: nullable(
    Type.Object({
      eks: Type.Array(Digest, { description: 'Its public endorsement keys' }),
      trust: Type.Enum(['declared', 'vendor', 'accepted', 'nobody'], { description: 'Who vouches for the TPM' }),
      issuer: Text,
      pcrs: nullable(Type.Record(Type.String(), Digest)),
    }),
  ),
  pending: nullable(Type.String({ description: 'What `rebind` would accept' })),
});

const DiskBytes = Type.Integer({ minimum: 0 });

const NodeErasure = Type.Object({
  at: Time,
  session: Type.String({ description: 'The session that erased the disks' }),
  identity: nullable(
    Type.Enum([...IDENTITY_LEVELS], { description: 'How the identity of that session was established' }),
  ),
  disks: Type.Array(Type.Object({ name: Type.String(), serial: Text, bytes: DiskBytes, method: Type.String() })),
  overwritten_at: nullable(
    Type.String({ format: 'date-time', description: 'Since then a session may have written to the disks' }),
  ),
  check: nullable(
    Type.Object({
      at: Time,
      session: Type.String(),
      mode: Type.Enum([...SESSION_MODES]),
      identity: nullable(Type.Enum([...IDENTITY_LEVELS])),
      result: Type.Enum([...ERASURE_RESULTS]),
      bytes: Type.Integer({ minimum: 0, description: 'How much was read in samples' }),
      problems: Type.Array(Type.String()),
    }),
  ),
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
    plain_pxe: Type.Boolean({ description: 'Its PXE ROM gets only the boot file, without options 60 and 43' }),
    gpus: nullable(Type.Integer()),
    region: Text,
    identity: NodeIdentity,
    erasure: nullable(NodeErasure),
    not_erased: nullable(
      Type.Object(
        { at: Time, reason: Type.String() },
        { description: 'It was released with its data on the disks; nothing is deployed to it until they are erased' },
      ),
    ),
    interfaces: Type.Array(
      Type.Object({
        name: Type.String(),
        mac: Text,
        network: Type.String(),
        address: Text,
        switch: nullable(SwitchPort),
      }),
    ),
    bmc: nullable(Type.Object({ address: Type.String(), driver: Type.Enum([...BMC_DRIVERS]), username: Text })),
    access: nullable(Type.Object({ host: Type.String(), port: Type.Integer(), ssh_username: Type.String() })),
    enrollment: nullable(Type.Enum([...ENROLLMENT_MODES], { description: 'Null: as in its profile' })),
    maas_system_id: nullable(Type.String({ description: 'Its machine in MAAS; null: MAAS does not provision it' })),
    labels: Type.Record(Type.String(), Type.String()),
    source: Type.String({ description: 'The inventory source that declares it, `api`, or `network`' }),
    intent: nullable(Intent),
    allocation: nullable(
      Type.Object(
        { id: Type.String(), user: Type.String(), state: Type.Enum([...ALLOCATION_STATE_NAMES]) },
        { description: 'Who uses it' },
      ),
    ),
    version: Type.Integer(),
    revision: Type.Integer(),
  }),
);

const NodeLease = Type.Object({
  address: Type.String(),
  mac: Type.String(),
  network: Type.String(),
  expires_at: Time,
  held: Type.Boolean({ description: 'Whether the client may use the address now' }),
});

export const NodePresence = Type.Object({
  node: Type.String(),
  last_seen: nullable(Type.String({ format: 'date-time', description: 'When it last sent anything to the appliance' })),
  contact_at: nullable(Type.String({ format: 'date-time', description: 'When it last connected to the node API' })),
  clock_offset: nullable(
    Type.Integer({ description: 'How many seconds its clock was ahead at its last heartbeat; null: not measured' }),
  ),
  system: nullable(
    Type.Object(NodeSystem.properties, {
      description: 'Failed units of its system, and how cloud-init ended; null: not reported',
    }),
  ),
  agent: nullable(
    Type.Object(
      {
        settings: Type.Enum(['current', 'stale', 'unknown']),
        version: Type.Enum(['current', 'outdated', 'unknown']),
        problem: nullable(Type.String()),
      },
      { description: 'Whether its agent uses the current settings and version; null: it never reported' },
    ),
  ),
  leases: Type.Array(NodeLease, { description: 'DHCP leases of its interfaces, newest first' }),
});

export const NodeFilter = Type.Object(
  {
    state: Type.Optional(Type.Enum([...LIFECYCLE_STATES])),
    site: Type.Optional(Type.String()),
    rack: Type.Optional(Type.String({ description: 'The value of the label `rack`' })),
    label: Type.Optional(
      Type.Array(Type.String(), { maxItems: 32, description: '`key=value`; may be repeated, and all must match' }),
    ),
    cluster: Type.Optional(Type.String()),
    profile: Type.Optional(Type.String()),
    bmc: Type.Optional(Type.Boolean({ description: 'Only nodes with a BMC, or only nodes without' })),
    q: Type.Optional(Type.String({ description: 'Part of a host name, MAC, address, serial or UUID' })),
    after: Type.Optional(Type.String({ description: '`next` of the previous page' })),
    limit: PageSize(100, 1000),
  },
  { additionalProperties: false },
);

export const NodePage = Type.Object({
  nodes: Type.Array(refTo(Node)),
  total: Type.Integer({ description: 'Number of matches on all pages' }),
  next: nullable(Type.String({ description: 'Send it as `after` to get the next page' })),
});

export const NodeReference = Type.Object({ node: Type.String({ description: 'Id, host name or MAC address' }) });
