// Handlers of nodes: list, show, add, presence, facts, tasks.

import { parseClientArchCode } from '../../domain/architecture.ts';
import { ColdironError } from '../../domain/errors.ts';
import { SECOND } from '../../domain/instant.ts';
import { parseIpv4 } from '../../domain/ipv4.ts';
import type { Machine } from '../../domain/machine.ts';
import { parseHostname } from '../../domain/names.ts';
import { type Parsed, shown } from '../../domain/parsed.ts';
import type { Task, TaskId } from '../../domain/task.ts';
import { cablingOf } from '../../provisioning/cabling.ts';
import { applyDocuments, nodeDocuments } from '../apply-documents.ts';
import { requireBmcRights } from '../bmc-fields.ts';
import { explainNode } from '../explain-node.ts';
import { findNode, findNodeEverKnown } from '../find-node.ts';
import type { Handlers } from '../handler.ts';
import { listNodes } from '../list-nodes.ts';
import { presenceOf } from '../node-presence.ts';
import { nodeQuery } from '../node-query.ts';
import { askedNodes, recordingRefusals } from '../refused-registration.ts';
import { registerHost } from '../register-host.ts';
import { cablingView } from '../views/cabling.ts';
import { applyView } from '../views/inventory.ts';
import { nodeView } from '../views/node.ts';
import { factsView, sessionView } from '../views/node-work.ts';
import { taskView } from '../views/task.ts';

export const nodeHandlers: Handlers<
  | 'listNodes'
  | 'getNode'
  | 'getNodePresence'
  | 'createNode'
  | 'importNodes'
  | 'registerHost'
  | 'listNodeSessions'
  | 'listNodeFacts'
  | 'getNodeCabling'
  | 'explainNode'
  | 'createTask'
  | 'listTasks'
  | 'getTask'
  | 'resumeTask'
  | 'abandonTask'
> = {
  listNodes({ fleet }, { query }) {
    const { page, total, next } = listNodes(fleet.machines(), nodeQuery(fleet, query));
    return { nodes: page.map(nodeView), total, next };
  },

  getNode: async (deps, { params }) => nodeView(await findNodeEverKnown(deps, params.node)),

  getNodePresence: async (deps, { params }) => presenceOf(deps, await findNodeEverKnown(deps, params.node)),

  async createNode(deps, { body, origin, role }) {
    requireBmcRights(role, [body], () => '');
    const { name } = body;
    const hostname = typeof name === 'string' ? parseHostname(name) : null;
    await recordingRefusals(deps, origin, askedNodes([body]), async () => {
      const there = hostname?.ok ? deps.fleet.machineByHostname(hostname.value) : null;
      if (there) {
        throw new ColdironError('conflict', `the node ${there.spec.hostname} already exists, from ${there.source}`);
      }
      await applyDocuments(deps, nodeDocuments([body]), { mode: 'additive', dryRun: false, origin });
    });
    return nodeView(await findNode(deps, String(name)));
  },

  async importNodes(deps, { body: { nodes, dry_run: dryRun = false }, origin, role }) {
    requireBmcRights(role, nodes, (index) => `nodes[${index}].`);
    const apply = () => applyDocuments(deps, nodeDocuments(nodes), { mode: 'additive', dryRun, origin });
    return applyView(dryRun ? await apply() : await recordingRefusals(deps, origin, askedNodes(nodes), apply));
  },

  async registerHost(deps, { body, origin, role }) {
    const registration = {
      host: body.host,
      port: body.port,
      sshUsername: body.ssh_username,
      sshPublicKey: body.ssh_public_key,
      sku: body.sku,
      gpus: body.gpus_total,
      region: body.region_code,
      onboarding: body.onboarding_mode,
      probe: body.probe ?? false,
      hostname: body.hostname ?? null,
    };
    const asked = [{ name: body.hostname ?? body.host, sku: body.sku }];
    const { machine, probe, onboarding } = await recordingRefusals(deps, origin, asked, () =>
      registerHost(deps, registration, origin, role),
    );
    return {
      ...nodeView(machine),
      onboarding,
      probe: {
        performed: probe !== null,
        banner: probe?.reached ? probe.banner : null,
        milliseconds: probe?.reached ? probe.milliseconds : null,
        host_key: (probe?.reached ? probe.hostKey : null) ?? null,
      },
    };
  },

  async listNodeSessions(deps, { params, query: { limit = 20 } }) {
    const { id } = await findNodeEverKnown(deps, params.node);
    return { sessions: (await deps.store.sessionsOf(id, limit)).map(sessionView) };
  },

  async listNodeFacts(deps, { params }) {
    const { id } = await findNodeEverKnown(deps, params.node);
    return { facts: (await deps.store.factsOf(id)).map(factsView) };
  },

  async getNodeCabling(deps, { params }) {
    const machine = await findNodeEverKnown(deps, params.node);
    return cablingView(machine.spec.hostname, await cablingOf(deps, machine));
  },

  explainNode({ fleet, bootPort, resolver, clock }, { params, query }) {
    const arch = query.arch === undefined ? null : understood('arch', parseClientArchCode(query.arch));
    const via = query.via === undefined ? null : understood('via', parseIpv4(query.via));
    const edge = { fleet, bootPort, resolver, now: clock.now() };
    const supposed = { arch, via, state: query.as ?? null, armed: query.armed ?? null };
    const { stages, notes, ...rest } = explainNode(edge, params.node, supposed);
    return { ...rest, stages: [...stages], notes: [...notes] };
  },

  async createTask(deps, { params, body, origin }) {
    const machine = await findNode(deps, params.node);
    const { kind, parameters = {}, expires_in_seconds: seconds } = body;
    const order = { kind, parameters, ...(seconds !== undefined && { within: seconds * SECOND }) };
    return taskView(await deps.enrollment.tasks.run(machine, order, origin));
  },

  async listTasks(deps, { params, query: { limit = 50 } }) {
    const machine = await findNodeEverKnown(deps, params.node);
    return { tasks: (await deps.store.tasksOf(machine.id, limit)).map(taskView) };
  },

  async getTask(deps, { params, query: { wait = 0 }, gone }) {
    const machine = await findNodeEverKnown(deps, params.node);
    const task = await deps.enrollment.tasks.outcome(params.task as TaskId, wait * SECOND, gone());
    return taskView(ownTask(machine, params.task, task));
  },

  async resumeTask(deps, { params, body: { reason }, origin }) {
    const machine = await findNode(deps, params.node);
    const task = ownTask(machine, params.task, await deps.store.task(params.task as TaskId));
    return taskView(await deps.enrollment.tasks.resume(machine, task, reason, origin));
  },

  async abandonTask(deps, { params, body: { reason }, origin }) {
    const machine = await findNode(deps, params.node);
    const task = ownTask(machine, params.task, await deps.store.task(params.task as TaskId));
    return taskView(await deps.enrollment.tasks.abandon(machine, task, reason, origin));
  },
};

function ownTask({ id, spec }: Machine, name: string, task: Task | null): Task {
  if (task?.machine === id) return task;
  throw new ColdironError('not_found', `${spec.hostname} has no task ${shown(name)}`);
}

function understood<T>(field: string, result: Parsed<T>): T {
  if (result.ok) return result.value;
  throw new ColdironError('invalid_request', `${field}: ${result.reason}`);
}
