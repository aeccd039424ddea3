import { Type } from 'typebox';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { nullable } from '../schemas/shared.ts';

const Listener = Type.Object({
  service: Type.Enum(['dhcp', 'tftp']),
  where: Type.String({ description: 'An interface, or address and port' }),
  networks: Type.Array(Type.String(), { description: 'Those that are served there, where they are known' }),
  problem: nullable(Type.String({ description: 'Why it does not answer there; it is tried again' })),
});

export function listenerRoute(app: App, { listeners }: ManagementDeps): void {
  app.get(
    '/listeners',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'Where DHCP and TFTP answer, and where they should and do not',
        tags: ['network'],
        response: { 200: Type.Object({ listeners: Type.Array(Listener) }) },
      },
    },
    async () => ({ listeners: listeners().map((listener) => ({ ...listener, networks: [...listener.networks] })) }),
  );
}
