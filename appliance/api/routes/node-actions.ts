import { ColdironError } from '../../domain/errors.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { Node, NodeReference, nodeView } from '../schemas/node.ts';
import { ActionBody, NODE_ACTIONS, type NodeAction, RemovalBody } from '../schemas/node-action.ts';
import { refTo } from '../schemas/shared.ts';

const ACTIONS = Object.keys(NODE_ACTIONS) as NodeAction[];

export function nodeActionRoutes(app: App, deps: ManagementDeps): void {
  for (const action of ACTIONS) {
    const { role, means } = NODE_ACTIONS[action];
    app.post(
      `/nodes/:node/${action}`,
      {
        config: { access: role },
        schema: {
          summary: means,
          tags: ['nodes'],
          params: NodeReference,
          body: action === 'remove' ? RemovalBody : ActionBody,
          response: { 200: refTo(Node) },
        },
      },
      async (request) => {
        const machine = await findNode(deps, request.params.node);
        const { hostname } = machine.spec;
        if ('confirm' in request.body && request.body.confirm !== hostname) {
          throw new ColdironError('invalid_request', `confirm: must be the node's host name, ${hostname}`);
        }
        const { note } = request.body;
        const by = { ...originOf(request), ...(note !== undefined && { note }) };
        return nodeView(await deps.commands.request(machine.id, action, by));
      },
    );
  }
}
