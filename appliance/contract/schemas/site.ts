// Health, listeners, the boot contract, explain and authority requests.

import { Type } from 'typebox';
import { LIFECYCLE_STATES } from '../../domain/lifecycle.ts';
import { nullable } from './shared.ts';

const closed = { additionalProperties: false } as const;
const ServiceState = Type.Enum(['running', 'off', 'starting', 'failed']);

export const HealthAnswer = Type.Object({
  status: Type.Enum(['healthy', 'starting', 'degraded']),
  services: Type.Object({ dhcp: ServiceState, tftp: ServiceState, http: ServiceState }),
  problems: Type.Optional(
    Type.Array(Type.String(), { description: 'Kinds of problems; GET /api/v1/appliance/problems has the details' }),
  ),
});

export const ListenersAnswer = Type.Object({
  listeners: Type.Array(
    Type.Object({
      service: Type.Enum(['dhcp', 'tftp']),
      where: Type.String({ description: 'An interface, or address and port' }),
      networks: Type.Array(Type.String(), { description: 'The networks served there, if known' }),
      problem: nullable(Type.String({ description: 'Why it does not answer there; it retries' })),
    }),
  ),
});

export const ApplianceProblemsAnswer = Type.Object({
  problems: Type.Array(
    Type.Object({
      id: Type.String({ description: 'What kind of problem: boot-file-damaged, disk-full, listener-missing …' }),
      severity: Type.Enum(['error', 'warning'], { description: 'error: the appliance cannot do all of its work' }),
      subject: Type.String({ description: 'The file, listener, network or path' }),
      since: Type.String({ format: 'date-time' }),
      words: Type.String({ description: 'One sentence' }),
      next_step: Type.String({ description: 'A command that works from any folder' }),
    }),
  ),
});

export const BootContractAnswer = Type.Object({
  problems: Type.Array(Type.String(), {
    description: 'Boot files that machines would be sent and that are not served',
  }),
  missing: Type.Array(
    Type.Object({
      file: Type.String(),
      what: Type.String({ description: 'What it is part of: loader, service OS, installer of a profile' }),
      architectures: Type.Array(Type.String(), { description: 'The architectures that lack it' }),
    }),
  ),
});

export const ExplainQuery = Type.Object(
  {
    arch: Type.Optional(Type.Integer({ minimum: 0, maximum: 65_535, description: 'As in DHCP option 93' })),
    via: Type.Optional(Type.String({ description: 'Assume that requests come through this relay' })),
    as: Type.Optional(Type.Enum([...LIFECYCLE_STATES], { description: 'Assume this state' })),
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
  { stage_only: Type.Optional(Type.Boolean({ description: 'Only publish it to the nodes' })) },
  closed,
);

export const RetireAuthorityBody = Type.Object(
  {
    force: Type.Optional(Type.Boolean({ description: 'Retire it although its certificates are still in use' })),
    confirm: Type.Optional(Type.String({ description: 'With force: its fingerprint' })),
  },
  closed,
);

export const TaskKeyAnswer = Type.Object({ id: Type.String(), state: Type.String() });
