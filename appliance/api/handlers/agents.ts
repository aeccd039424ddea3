// Handlers of node agents: recovery, settings, updates and logs.

import type { AGENT_OPERATIONS } from '../../contract/operations/agents.ts';
import type { Answer } from '../../contract/wire.ts';
import { ColdironError } from '../../domain/errors.ts';
import type { Origin } from '../../domain/event.ts';
import { instantText } from '../../domain/instant.ts';
import type { Machine } from '../../domain/machine.ts';
import type { RecoveryForm } from '../../identity/enrollment-commands.ts';
import { secretText } from '../../render/bundle/bundle.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode, findNodeEverKnown } from '../find-node.ts';
import type { Handlers } from '../handler.ts';
import { taskView } from '../views/task.ts';
import { timeText } from '../views/time-text.ts';

const UPDATE_WAIT_SECONDS = 120;

export const agentHandlers: Handlers<keyof typeof AGENT_OPERATIONS> = {
  async reissueEnrollment(deps, { params, origin }) {
    const { issued, bundle, files } = await recover(deps, params.node, 'restart-command', origin);
    return {
      ...issued,
      recovery_bundle: {
        node_id: bundle.nodeId,
        enrollment_token: secretText(bundle.enrollmentToken),
        env_file_path: bundle.layout.envFilePath,
        systemd_unit_name: bundle.layout.systemdUnitName,
        environment: files.environment.text,
        restart_command: files.restart.text,
      },
    };
  },

  async issueBootstrapScript(deps, { params, origin }) {
    const { issued, files } = await recover(deps, params.node, 'bootstrap-script', origin);
    return { ...issued, bootstrap_script: files.script.text };
  },

  getNodeAgent: async (deps, { params }) => agentView(deps, await findNodeEverKnown(deps, params.node)),

  async reconcileNodeAgent(deps, { params, origin }) {
    const machine = await findNode(deps, params.node);
    await deps.enrollment.agents.reconcile(machine, origin);
    return agentView(deps, machine);
  },

  async updateNodeAgent(deps, { params, body: { wait_seconds: seconds = UPDATE_WAIT_SECONDS }, origin }) {
    const machine = await findNode(deps, params.node);
    const { agents } = deps.enrollment;
    const task = await agents.update(machine, seconds, origin);
    return { digest: agents.digest, task: task && taskView(task) };
  },

  async listAgentLogs(deps, { params, query }) {
    const machine = await findNodeEverKnown(deps, params.node);
    const { error_class: errorClass, since, limit = 100, ...rest } = query;
    const lines = await deps.store.agentLog({
      machine: machine.id,
      limit,
      ...rest,
      ...(errorClass !== undefined && { errorClass }),
      ...(since !== undefined && { since: timeOf(since) }),
    });
    return {
      lines: lines.map(({ at, action, errorClass: error, message }) => ({
        at: instantText(at),
        node_id: machine.id,
        action,
        error_class: error,
        message,
      })),
    };
  },
};

async function recover(deps: ManagementDeps, node: string, form: RecoveryForm, origin: Origin) {
  const machine = await findNode(deps, node);
  const { bundle, files, replaced } = await deps.enrollment.issueBundle(machine, true, origin, form);
  const usable: 'now' | 'after-quarantine' = machine.lifecycle.state === 'quarantined' ? 'after-quarantine' : 'now';
  const issued = {
    node: bundle.hostname,
    node_id: bundle.nodeId,
    bundle_id: bundle.id,
    expires_at: instantText(bundle.tokenExpiresAt),
    replaced: replaced?.id ?? null,
    usable,
  };
  return { issued, bundle, files };
}

async function agentView(
  { enrollment }: Pick<ManagementDeps, 'enrollment'>,
  machine: Machine,
): Promise<Answer<'getNodeAgent'>> {
  const { reported, wanted, settings, updated } = await enrollment.agents.stateOf(machine);
  const heartbeat = enrollment.heartbeats.lastOf(machine.id);
  const version = (heartbeat?.report as { readonly agent?: unknown } | undefined)?.agent;
  return {
    node: machine.spec.hostname,
    version: typeof version === 'string' ? version : null,
    last_heard: timeText(heartbeat?.at ?? null),
    settings,
    problem: reported.problem || null,
    api_url: { used: reported.apiUrl, wanted: wanted.apiUrl },
    ca_sha256: { used: reported.caSha256, wanted: wanted.caSha256 },
    task_keys: { used: reported.taskKeys, wanted: wanted.taskKeys },
    digest: { used: reported.digest, wanted: wanted.digest },
    updated,
  };
}

function timeOf(text: string): number {
  const at = Date.parse(text);
  if (Number.isNaN(at)) throw new ColdironError('invalid_request', `since: is not a time: ${text.slice(0, 40)}`);
  return at;
}
