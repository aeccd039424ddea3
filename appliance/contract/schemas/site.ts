// Health, listeners, the boot contract, diagnosis and authority requests.

import { Type } from 'typebox';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { nullable } from './shared.ts';

const closed = { additionalProperties: false } as const;
const ServiceState = Type.Enum(['running', 'off', 'starting', 'failed']);

export const HealthAnswer = Type.Object({
  status: Type.Enum(['healthy', 'starting', 'degraded']),
  services: Type.Object({ dhcp: ServiceState, tftp: ServiceState, http: ServiceState }),
});

export const ListenersAnswer = Type.Object({
  listeners: Type.Array(
    Type.Object({
      service: Type.Enum(['dhcp', 'tftp']),
      where: Type.String({ description: 'An interface, or address and port' }),
      networks: Type.Array(Type.String(), { description: 'Those that are served there, where they are known' }),
      problem: nullable(Type.String({ description: 'Why it does not answer there; it is tried again' })),
    }),
  ),
});

export const BootContractAnswer = Type.Object({
  problems: Type.Array(Type.String(), { description: 'What a machine would be sent to and not get' }),
  missing: Type.Array(
    Type.Object({
      file: Type.String(),
      what: Type.String({ description: 'What it is part of: loader, service OS, installer of a profile' }),
      architectures: Type.Array(Type.String(), { description: 'Machines that do not get that because of it' }),
    }),
  ),
});

export const DiagnosisAnswer = Type.Object({
  node: Type.String(),
  state: Type.Enum([...LIFECYCLE_STATES]),
  waits_for: Type.String(),
  diagnosis: nullable(
    Type.Object({
      id: Type.String({ description: 'Stable; the rule that fits' }),
      reason: Type.String(),
      next_step: Type.String(),
      evidence: Type.Array(Type.String()),
    }),
  ),
});

export const ExplainQuery = Type.Object(
  {
    arch: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description: 'As in DHCP option 93' })),
    via: Type.Optional(Type.String({ description: 'As if it asked through this relay' })),
    as: Type.Optional(Type.Enum([...LIFECYCLE_STATES], { description: 'What if it were in this state?' })),
    armed: Type.Optional(
      Type.Boolean({
        description:
          'As if its deployment or erasure were armed, or not. Left out: armed, in a state that it is not in',
      }),
    ),
  },
  closed,
);

export const RotateAuthorityBody = Type.Object(
  { stage_only: Type.Optional(Type.Boolean({ description: 'Only let nodes learn of it yet' })) },
  closed,
);

export const RetireAuthorityBody = Type.Object(
  {
    force: Type.Optional(Type.Boolean({ description: 'Cut off whoever still holds a certificate of it' })),
    confirm: Type.Optional(Type.String({ description: 'With force: its fingerprint' })),
  },
  closed,
);

export const TaskKeyAnswer = Type.Object({ id: Type.String(), state: Type.String() });
