// Who acts when a request comes over MCP.

import type { Caller } from '../api/access.ts';
import type { Proposer } from '../api/propose.ts';

/**
 * Everything that comes over MCP is done by an agent, whoever started it. On the socket it has the rights of an agent, not of the local user,
 * so that the approval of an operator is one that it could not give itself.
 */
export function agentOf({ actor, role }: Caller, correlationId: string): Proposer {
  const name = actor.slice(actor.indexOf(':') + 1);
  const isLocal = actor.startsWith('local:');
  return { actor: `agent:${name}`, principal: actor, role: isLocal ? 'agent' : role, byAgent: true, correlationId };
}
