import { instantText } from '../../domain/instant.ts';
import { bundleDocument } from '../../render/bundle/bundle.ts';
import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { findNode } from '../find-node.ts';
import { BundleRequest, certificateView, HandedBundle, NodeTrust, tokenView } from '../schemas/enrollment.ts';
import { NodeReference } from '../schemas/node.ts';
import { timeText } from '../schemas/shared.ts';

const tags = ['enrollment'];

export function enrollmentRoutes(app: App, deps: ManagementDeps): void {
  app.post(
    '/nodes/:node/enrollment-token',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Hand over the bootstrap bundle of a node, once; its token is in this answer and nowhere else',
        tags,
        params: NodeReference,
        body: BundleRequest,
        response: { 201: HandedBundle },
      },
    },
    async (request, reply) => {
      const machine = await findNode(deps, request.params.node);
      const { reissue = false } = request.body;
      const { bundle, files, replaced } = await deps.enrollment.issueBundle(machine, reissue, originOf(request));
      return reply.code(201).send({
        node: bundle.hostname,
        node_id: bundle.nodeId,
        bundle_id: bundle.id,
        expires_at: instantText(bundle.tokenExpiresAt),
        replaced: replaced?.id ?? null,
        bootstrap_bundle: bundleDocument(bundle) as Record<string, unknown>,
        environment: files.environment.text,
        install_script: files.script.text,
      });
    },
  );

  app.get(
    '/nodes/:node/enrollment',
    {
      config: { access: 'viewer' },
      schema: {
        summary:
          'What a node is trusted with: its tokens without their secrets, its certificates, and when it was heard',
        tags,
        params: NodeReference,
        response: { 200: NodeTrust },
      },
    },
    async (request) => {
      const machine = await findNode(deps, request.params.node);
      const heard = deps.enrollment.heartbeats.lastOf(machine.id);
      return {
        node: machine.spec.hostname,
        health: machine.health,
        last_heard: timeText(heard?.at ?? null),
        report: heard?.report ?? null,
        tokens: (await deps.store.enrollmentTokensOf(machine.id)).map(tokenView),
        certificates: (await deps.store.certificatesOf(machine.id)).map(certificateView),
      };
    },
  );
}
