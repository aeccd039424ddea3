import type { App } from '../base-app.ts';

export function openApiRoute(app: App): void {
  app.get(
    '/openapi.json',
    { config: { access: 'viewer' }, schema: { summary: 'This document', tags: ['meta'] } },
    async () => app.swagger(),
  );
}
