// Calls a tool for an agent: reads and harmless writes are performed, everything else becomes a proposal.

import type { FastifyBaseLogger } from 'fastify';
import type { HandlerDeps } from '../api/handler.ts';
import { perform } from '../api/perform.ts';
import { type Proposer, planOperation } from '../api/propose.ts';
import { validated } from '../api/validation.ts';
import { proposalView } from '../api/views/proposal.ts';
import { OPERATIONS, type OperationId } from '../contract/operations.ts';
import type { Answer } from '../contract/wire.ts';
import { ColdironError } from '../domain/errors.ts';
import type { Json } from '../domain/event.ts';
import { mayActAs } from '../domain/token.ts';
import { SkillRequest } from './skill-schemas.ts';
import { executeSkill, type SkillDeps } from './skills.ts';
import { type JsonObject, partsOf } from './tool-schemas.ts';
import { TOOLS, type Tool, type ToolName } from './tools.ts';

export interface AgentCall {
  readonly agent: Proposer;
  readonly log: FastifyBaseLogger;
  readonly signal: AbortSignal;
}

/** The list is chosen for agents; a token of a person has the rights of its role. */
export function mayUse({ role }: Pick<Proposer, 'role'>, tool: Tool): boolean {
  if (role === 'agent') return true;
  const access = tool.mode === 'skill' ? 'viewer' : OPERATIONS[tool.operation].access;
  return access === 'public' || mayActAs(role, access);
}

export async function callTool(deps: HandlerDeps, name: ToolName, given: JsonObject, call: AgentCall): Promise<Json> {
  const tool: Tool = TOOLS[name];
  const { agent } = call;
  if (!mayUse(agent, tool)) throw new ColdironError('forbidden', `the role ${agent.role} may not use ${name}`);
  switch (tool.mode) {
    case 'read':
    case 'write':
      return operationOf(deps, call)(tool.operation, partsOf(tool, known(tool, given)));
    case 'proposal':
      return (await proposed(deps, tool, known(tool, given), call)) as unknown as Json;
    case 'skill': {
      const request = validated(SkillRequest, given, 'body') as Parameters<typeof executeSkill>[1];
      return (await executeSkill(skillDeps(deps, call), request)) as unknown as Json;
    }
  }
}

type Parts = Partial<Record<'params' | 'query' | 'body', JsonObject>>;

const operationOf =
  (deps: HandlerDeps, { agent, log, signal }: AgentCall) =>
  (id: OperationId, { params = {}, query = {}, body = {} }: Parts): Promise<Json> => {
    const origin = { actor: agent.actor, correlationId: agent.correlationId };
    return perform(deps, id, { params, query, body, origin, role: agent.role, log, signal });
  };

/** An unknown field is an error, as on a route: a misspelled filter must not be ignored. */
function known(tool: Exclude<Tool, { mode: 'skill' }>, given: JsonObject): JsonObject {
  const { params, query, body } = partsOf({ ...tool, defaults: {} }, given);
  const used = new Set([...Object.keys({ ...params, ...query, ...body }), 'proposal', 'document']);
  const unknown = Object.keys(given).filter((key) => !used.has(key));
  if (unknown.length > 0) {
    throw new ColdironError('invalid_request', unknown.map((key) => `${key}: unknown field`).join('; '));
  }
  return given;
}

/** The second call, with the id of the proposal, continues it if it was approved, and reports how it ended. */
async function proposed(
  deps: HandlerDeps,
  tool: Extract<Tool, { mode: 'proposal' }>,
  given: JsonObject,
  { agent }: AgentCall,
): Promise<ReturnType<typeof proposalView>> {
  if (given.proposal !== undefined) {
    const proposal = await deps.proposals.find(String(given.proposal));
    if (proposal.operation !== tool.operation) {
      throw new ColdironError('invalid_request', `proposal: ${proposal.id} is about ${proposal.operation}`);
    }
    return proposalView(await deps.proposals.settle(proposal));
  }
  const { params, body } = partsOf(tool, given);
  if (typeof params.node !== 'string') throw new ColdironError('invalid_request', 'node: missing');
  const plan = await planOperation(deps, tool.operation, { node: params.node, body }, agent);
  return proposalView(await deps.proposals.propose(plan));
}

function skillDeps(deps: HandlerDeps, call: AgentCall): SkillDeps {
  const run = operationOf(deps, call);
  return {
    now: () => deps.clock.now(),
    machines: () => deps.fleet.machines(),
    diagnosis: async (node) => (await run('diagnoseNode', { params: { node } })) as unknown as Answer<'diagnoseNode'>,
    node: async (node) => (await run('getNode', { params: { node } })) as unknown as Answer<'getNode'>,
    events: async (query) => {
      const answer = await run('listEvents', { query: { ...query, newest: true } });
      return (answer as unknown as Answer<'listEvents'>).events;
    },
  };
}
