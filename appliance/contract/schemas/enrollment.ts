// Bundles, certificates and authorities.

import { Type } from 'typebox';
import { nullable, Time } from './shared.ts';

export const BundleRequest = Type.Object(
  {
    reissue: Type.Optional(
      Type.Boolean({ description: 'Revoke the bundle that was issued before, also if it is still valid' }),
    ),
  },
  { additionalProperties: false },
);

export const BundleAnswer = Type.Object({
  node: Type.String(),
  node_id: Type.String(),
  bundle_id: Type.String(),
  expires_at: Time,
  replaced: nullable(Type.String({ description: 'The id of the bundle that was revoked' })),
  bootstrap_bundle: Type.Record(Type.String(), Type.Unknown(), {
    description: 'Contains the token: for the node only',
  }),
  environment: Type.String({ description: 'node-agent.env' }),
  install_script: Type.String({ description: 'install-node-agent.sh' }),
});

export const EnrollmentTokenView = Type.Object({
  id: Type.String(),
  kind: Type.String({ description: 'enrollment or recovery' }),
  delivery: Type.String({ description: 'manual, maas or node' }),
  handed_to: Type.String(),
  created_at: Time,
  expires_at: Time,
  consumed_at: nullable(Time),
  revoked_at: nullable(Time),
});

export const Certificate = Type.Object({
  serial: Type.String(),
  kind: Type.String({ description: 'node, service or server' }),
  authority: Type.String(),
  fingerprint: Type.String(),
  not_before: Time,
  not_after: Time,
  shown_at: nullable(Time),
  revoked_at: nullable(Time),
  revoked_because: nullable(Type.String()),
  replaced_by: nullable(Type.String()),
});

export const NodeTrust = Type.Object({
  node: Type.String(),
  health: Type.String(),
  last_heard: nullable(Time),
  report: Type.Unknown(),
  tokens: Type.Array(EnrollmentTokenView),
  certificates: Type.Array(Certificate),
});

export const AuthorityView = Type.Object({
  fingerprint: Type.String(),
  state: Type.String({ description: 'staged, active, outgoing or retired' }),
  certificate: Type.String({ description: 'PEM' }),
  created_at: Time,
  not_after: Time,
});

export const Holder = Type.Object({
  holder: Type.String({ description: "A node's host name, or appliance" }),
  kind: Type.String(),
  serial: Type.String(),
  not_after: Time,
});

export const Authorities = Type.Object({
  authorities: Type.Array(AuthorityView),
  stale: Type.Array(Holder, { description: 'Holders of certificates of the outgoing authority' }),
  stale_until: nullable(Time),
  expiring: Type.Array(Holder, { description: 'Certificates that expire within 7 days' }),
  trust_pem: Type.String({ description: 'The certificates of all trusted authorities, the active one first' }),
  task_signing_keys: Type.Array(Type.Object({ id: Type.String(), state: Type.String(), public_key: Type.String() })),
});
