// The operations on the agents of nodes: recovery, settings, updates and logs.

import { type Operation, V1, WRITES_NODE } from '../operation.ts';

const AGENT = `${V1}/nodes/:node/agent`;
/** The secret is in this answer and nowhere else. */
const recovery = {
  method: 'POST',
  access: 'operator',
  tag: 'enrollment',
  status: 201,
  errors: ['conflict', 'invalid_bundle', 'authority_unavailable'],
  write: { ...WRITES_NODE, secretAnswer: true },
} as const;

export const AGENT_OPERATIONS = {
  reissueEnrollment: {
    ...recovery,
    path: `${V1}/admin/nodes/:node/reissue-enrollment`,
    aliases: [`${V1}/nodes/:node/reissue-enrollment`],
    summary:
      'Issue a new token, with one command that repairs the files of an installed agent and restarts it; the previous token is revoked',
    cli: 'agent recover',
  },
  issueBootstrapScript: {
    ...recovery,
    path: `${V1}/admin/nodes/:node/bootstrap-script`,
    aliases: [`${V1}/nodes/:node/bootstrap-script`],
    summary: 'Issue a new token, with a script that installs the agent again; the previous token is revoked',
    cli: 'agent script',
  },
  getNodeAgent: {
    method: 'GET',
    path: AGENT,
    access: 'viewer',
    tag: 'enrollment',
    summary: 'Read the version and the settings that the agent of a node uses, and those that it should use',
    errors: [],
    write: null,
    cli: 'agent show',
  },
  reconcileNodeAgent: {
    method: 'POST',
    path: `${AGENT}/reconcile`,
    access: 'operator',
    tag: 'enrollment',
    summary: 'Ask the agent of a node to apply its current settings now: API URL, authorities, task-signing keys',
    errors: [],
    write: { ...WRITES_NODE, idempotent: true },
    cli: 'agent reconcile',
  },
  updateNodeAgent: {
    method: 'POST',
    path: `${AGENT}/update`,
    access: 'operator',
    tag: 'enrollment',
    summary: 'Replace the agent of a node by the one of this appliance; it is restored when it does not report',
    status: 201,
    errors: ['conflict'],
    write: WRITES_NODE,
    cli: 'agent update',
  },
  listAgentLogs: {
    method: 'GET',
    path: `${AGENT}/logs`,
    access: 'viewer',
    tag: 'enrollment',
    summary: 'List the log lines of the agent of a node, oldest first',
    errors: [],
    write: null,
    cli: 'agent logs',
  },
} as const satisfies Readonly<Record<string, Operation>>;
