// The agents of nodes: recovery bundles, settings, updates and logs.

import { Type } from 'typebox';
import { ERROR_CLASSES, LOG_ACTIONS } from '../../domain/agent-log.ts';
import { nullable, PageSize, refTo, Time } from './shared.ts';
import { Task } from './task.ts';

const closed = { additionalProperties: false } as const;
const Issued = {
  node: Type.String(),
  node_id: Type.String(),
  bundle_id: Type.String(),
  expires_at: Time,
  replaced: nullable(Type.String({ description: 'The id of the token that was revoked' })),
  usable: Type.Enum(['now', 'after-quarantine'], {
    description: 'A quarantined node can use its token only after the quarantine is cleared',
  }),
};

export const RecoveryAnswer = Type.Object({
  ...Issued,
  recovery_bundle: Type.Object({
    node_id: Type.String(),
    enrollment_token: Type.String(),
    env_file_path: Type.String(),
    systemd_unit_name: Type.String(),
    environment: Type.String({ description: 'The content of the env file' }),
    restart_command: Type.String({ description: 'For a shell of root on the node; contains the token' }),
  }),
});

export const BootstrapScriptAnswer = Type.Object({
  ...Issued,
  bootstrap_script: Type.String({ description: 'install-node-agent.sh; contains the token' }),
});

const Compared = (what: string) =>
  Type.Object(
    { used: nullable(Type.String()), wanted: nullable(Type.String()) },
    { description: `${what}: what the agent uses (null: not reported), and what it should use` },
  );

export const NodeAgent = Type.Object({
  node: Type.String(),
  version: nullable(Type.String()),
  last_heard: nullable(Time),
  settings: Type.Enum(['current', 'stale', 'unknown']),
  problem: nullable(Type.String({ description: 'Why the agent did not apply its settings, in its own words' })),
  api_url: Compared('The URL of the node API'),
  ca_sha256: Compared('The SHA-256 checksum of the trusted authorities'),
  task_keys: Compared('The ids of the task-signing keys'),
  digest: Compared('The SHA-256 checksum of the agent'),
  updated: Type.Enum(['current', 'outdated', 'unknown']),
});

export const UpdateBody = Type.Object(
  {
    wait_seconds: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 900,
        description: 'The previous agent is restored when the new one sends no heartbeat for so long (120)',
      }),
    ),
  },
  closed,
);
export const UpdateAnswer = Type.Object({ digest: Type.String(), task: nullable(refTo(Task)) });

export const AgentLogFilter = Type.Object(
  {
    action: Type.Optional(Type.Enum([...LOG_ACTIONS])),
    error_class: Type.Optional(Type.Enum([...ERROR_CLASSES])),
    errors: Type.Optional(Type.Boolean({ description: 'Only lines with an error class' })),
    contains: Type.Optional(Type.String({ maxLength: 200 })),
    since: Type.Optional(Time),
    limit: PageSize(100, 1000),
  },
  closed,
);

export const AgentLogLine = Type.Object({
  at: Time,
  node_id: Type.String(),
  action: Type.String(),
  error_class: nullable(Type.String()),
  message: Type.String(),
});
