// Registers a running host, as in the onboarding runbook: POST /api/v1/admin/nodes.

import { Type } from 'typebox';
import { Node } from './node.ts';
import { nullable } from './shared.ts';

export const HostRequest = Type.Object(
  {
    host: Type.String({ description: 'IPv4 address or DNS name' }),
    port: Type.Integer({ minimum: 1, maximum: 65_535 }),
    ssh_username: Type.String({ pattern: '^[a-z_][a-z0-9_-]{0,31}$' }),
    ssh_public_key: Type.String({ maxLength: 8192, description: 'One OpenSSH line' }),
    sku: Type.String({ description: 'An active entry of the catalogue' }),
    gpus_total: Type.Integer({ minimum: 0, maximum: 1024 }),
    region_code: Type.String({ minLength: 1, maxLength: 63 }),
    onboarding_mode: Type.Enum(['manual', 'maas']),
    probe: Type.Optional(
      Type.Boolean({
        description:
          'Probe SSH first: the server answers, and lets the user in with the key. Nothing is created when that fails',
      }),
    ),
    hostname: Type.Optional(Type.String({ description: 'Derived from the host when left out' })),
  },
  { additionalProperties: false },
);

export const HostAnswer = Type.Object({
  ...Node.schema.properties,
  onboarding: nullable(Type.String({ description: 'With mode maas: the onboarding run; null: manual' })),
  probe: Type.Object({
    performed: Type.Boolean(),
    banner: nullable(Type.String()),
    milliseconds: nullable(Type.Number()),
    host_key: nullable(Type.String({ description: 'Fingerprint of the server that lets the user in with the key' })),
  }),
});
