import { Type } from 'typebox';
import type { App } from '../base-app.ts';
import type { ManagementDeps } from '../deps.ts';
import { nullable, PageSize, refTo } from '../schemas/shared.ts';
import { AuditEntry, AuditVerdict, auditView } from '../schemas/trail.ts';

const AuditFilter = Type.Object(
  {
    after: Type.Optional(Type.Integer({ minimum: 0, description: '`next` of the page before' })),
    limit: PageSize(100, 1000),
    newest: Type.Optional(Type.Boolean({ description: 'The last ones, still in order' })),
  },
  { additionalProperties: false },
);

export function auditRoutes(app: App, { store }: ManagementDeps): void {
  app.get(
    '/audit',
    {
      config: { access: 'operator' },
      schema: {
        summary: 'Who changed what, the oldest first',
        tags: ['trail'],
        querystring: AuditFilter,
        response: { 200: Type.Object({ entries: Type.Array(refTo(AuditEntry)), next: nullable(Type.Integer()) }) },
      },
    },
    async ({ query: { after = 0, limit = 100, newest = false } }) => {
      const entries = await store.auditEntries(after, limit, newest);
      return { entries: entries.map(auditView), next: entries.at(-1)?.seq ?? null };
    },
  );

  app.get(
    '/audit/verify',
    {
      config: { access: 'operator' },
      schema: { summary: 'Whether the audit log is whole', tags: ['trail'], response: { 200: AuditVerdict } },
    },
    async () => store.verifyAudit(),
  );
}
