import { Type } from 'typebox';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';

const BootContract = Type.Object({
  problems: Type.Array(Type.String(), { description: 'What a machine would be sent to and not get' }),
  missing: Type.Array(
    Type.Object({
      file: Type.String(),
      what: Type.String({ description: 'What it is part of: loader, service OS, installer of a profile' }),
      architectures: Type.Array(Type.String(), { description: 'Machines that do not get that because of it' }),
    }),
  ),
});

export function bootContractRoute(app: App, { bootContract }: ManagementDeps): void {
  app.get(
    '/boot-contract',
    {
      config: { access: 'viewer' },
      schema: {
        summary: 'Whether everything that is advertised is served: fetched now, over TFTP and HTTP, and checked',
        tags: ['network'],
        response: { 200: BootContract },
      },
    },
    async () => {
      const { problems, missing } = await bootContract();
      return {
        problems: [...problems],
        missing: missing.map(({ architectures, ...file }) => ({ ...file, architectures: [...architectures] })),
      };
    },
  );
}
