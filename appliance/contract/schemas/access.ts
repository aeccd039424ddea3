// SSH keys, key sets and the default key sets of sites.

import { Type } from 'typebox';
import { MAX_KEYS_IN_SET } from '../../domain/access-object.ts';
import { MAX_SUDO_COMMANDS } from '../../domain/sudo-policy.ts';
import { component, nullable, Time } from './shared.ts';

const closed = { additionalProperties: false } as const;

const Owner = Type.Optional(Type.String({ description: 'The person whom it belongs to (the caller)' }));

export const SshKey = component(
  'SshKey',
  Type.Object({
    id: Type.String(),
    owner: Type.String(),
    fingerprint: Type.String({ description: 'As ssh-keygen -l prints it' }),
    comment: Type.String(),
    key: Type.String({ description: 'The line for authorized_keys' }),
    added_at: Time,
    added_by: Type.String(),
  }),
);

const Rotation = Type.Object({
  from: Type.String({ description: 'The key that leaves' }),
  to: Type.String({ description: 'The key that replaces it' }),
  validated_at: nullable(Time),
  validated_with: nullable(Type.String({ description: 'user@host that accepted the new key' })),
  host_key: nullable(Type.String({ description: 'The fingerprint of that host' })),
});

export const KeySet = component(
  'KeySet',
  Type.Object({
    name: Type.String(),
    owner: Type.String(),
    keys: Type.Array(Type.String()),
    rotation: nullable(Rotation),
    version: Type.Integer(),
    changed_at: Time,
    changed_by: Type.String(),
  }),
);

export const KeySetAnswer = Type.Object({
  ...KeySet.schema.properties,
  removed: Type.Boolean(),
  versions: Type.Array(
    Type.Object({
      version: Type.Integer(),
      at: Time,
      by: Type.String(),
      keys: Type.Array(Type.String()),
      removed: Type.Boolean(),
    }),
    { description: 'The newest first' },
  ),
});

export const SiteKeySet = Type.Object({
  site: Type.String(),
  key_set: nullable(Type.String()),
  version: Type.Integer(),
  changed_at: Time,
  changed_by: Type.String(),
});

export const SshKeyFilter = Type.Object({ owner: Type.Optional(Type.String()) }, closed);
export const NewSshKey = Type.Object(
  { key: Type.String({ maxLength: 16_384, description: 'One line of a .pub file' }), owner: Owner },
  closed,
);
export const SshKeyReference = Type.Object({ key: Type.String({ description: 'Its id' }) }, closed);
export const KeySetReference = Type.Object({ set: Type.String({ description: 'Its name' }) }, closed);
export const KeySetBody = Type.Object(
  {
    keys: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: MAX_KEYS_IN_SET,
      description: 'Ids of SSH keys',
    }),
    owner: Owner,
  },
  closed,
);
export const RotateBody = Type.Object({ from: Type.String(), to: Type.String() }, closed);
export const ValidateBody = Type.Object(
  {
    host: Type.String({ minLength: 1, maxLength: 253, pattern: '^[A-Za-z0-9.:_-]+$' }),
    port: Type.Optional(Type.Integer({ minimum: 1, maximum: 65_535, description: '22' })),
    username: Type.String({ minLength: 1, maxLength: 64, pattern: '^[A-Za-z0-9._-]+$' }),
  },
  closed,
);
export const RollBackBody = Type.Object(
  { version: Type.Optional(Type.Integer({ minimum: 1, description: 'The version to restore (the one before)' })) },
  closed,
);
export const SiteReference = Type.Object({ site: Type.String() }, closed);
export const SiteKeySetBody = Type.Object({ key_set: nullable(Type.String()) }, closed);

export const SudoPolicy = component(
  'SudoPolicy',
  Type.Object({
    name: Type.String(),
    owner: Type.String(),
    commands: Type.Array(Type.String()),
    checksum: Type.String({ description: 'SHA-256 of `sudoers`' }),
    sudoers: Type.String({ description: 'The file for a user named USER' }),
    reviewed_by: nullable(Type.String()),
    reviewed_at: nullable(Time),
    version: Type.Integer(),
    changed_at: Time,
    changed_by: Type.String(),
  }),
);
export const SudoPolicyReference = Type.Object({ policy: Type.String({ description: 'Its name' }) }, closed);
export const SudoPolicyBody = Type.Object(
  {
    commands: Type.Array(Type.String(), {
      minItems: 1,
      maxItems: MAX_SUDO_COMMANDS,
      description: 'Each an absolute path with exactly these arguments; no wildcards',
    }),
    owner: Owner,
  },
  closed,
);
export const ReviewBody = Type.Object(
  { checksum: Type.String({ description: 'Of the version that was read' }) },
  closed,
);
