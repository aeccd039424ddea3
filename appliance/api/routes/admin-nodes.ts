import { originOf } from '../access.ts';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { registerHost } from '../register-host.ts';
import { HostAnswer, HostRequest } from '../schemas/admin-node.ts';
import { nodeView } from '../schemas/node.ts';

export function adminNodeRoutes(app: App, deps: ManagementDeps): void {
  app.post(
    '/admin/nodes',
    {
      config: { access: 'admin' },
      schema: {
        summary: 'Take on a host that already runs',
        tags: ['nodes'],
        body: HostRequest,
        response: { 201: HostAnswer },
      },
    },
    async (request, reply) => {
      const { body } = request;
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
      const { machine, probe } = await registerHost(deps, registration, originOf(request));
      return reply.code(201).send({
        ...nodeView(machine),
        probe: {
          performed: probe !== null,
          banner: probe?.reached ? probe.banner : null,
          milliseconds: probe?.reached ? probe.milliseconds : null,
        },
      });
    },
  );
}
