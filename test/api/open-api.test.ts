import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateOpenApi } from '../../appliance/api/open-api.ts';
import { pathsOf } from '../../appliance/contract/operation.ts';
import { OPERATION_IDS, OPERATIONS } from '../../appliance/contract/operations.ts';
import { ERRORS } from '../../appliance/domain/errors.ts';
import { type Fixture, openApi } from './api-fixture.ts';

interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly parameters?: readonly { readonly in: string; readonly name: string }[];
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, object>>;
}
interface Document {
  readonly openapi: string;
  readonly info: object;
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, object>>;
    readonly securitySchemes: object;
  };
}

const committed = readFileSync(new URL('../../appliance/api/openapi.json', import.meta.url), 'utf8');
let api: Fixture;
let document: Document;
beforeAll(async () => {
  api = await openApi();
  document = (await generateOpenApi()) as Document;
});
afterAll(() => api.close());

const operations = () =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.values(methods).map((operation) => ({ path, operation })),
  );

/** Other paths of operations that are described under their own. */
const ALIASES: ReadonlySet<string> = new Set(
  OPERATION_IDS.flatMap((id) =>
    pathsOf(OPERATIONS[id])
      .slice(1)
      .map((path) => `${OPERATIONS[id].method} ${path}`),
  ),
);

describe('the OpenAPI document', () => {
  it('in the repository equals the generated one', () => {
    expect(`${JSON.stringify(document, null, 2)}\n`, 'out of date: write it anew with `npm run docs`').toBe(committed);
  });

  it('is what the API serves', async () => {
    const served = await api.call({ role: 'viewer', url: '/api/v1/openapi.json' });
    expect(served.json()).toEqual(JSON.parse(committed));
  });

  it('describes every route with a summary, its role and its errors', () => {
    const routes = api.app.routeTable.filter(
      ({ method, url }) => method !== 'HEAD' && !ALIASES.has(`${method} ${url}`),
    );
    for (const { method, url, access } of routes) {
      // A byte stream after an upgrade, which OpenAPI cannot describe; the introduction says so.
      if (url.endsWith('/console') || url.endsWith('/terminal')) continue;
      const operation = document.paths[url.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      expect(operation, `${method} ${url}`).toMatchObject({
        summary: expect.any(String),
        security: access === 'public' ? [] : [{ token: [] }],
        responses: { 400: expect.any(Object) },
      });
    }
    const described = Object.values(document.paths).flatMap(Object.keys);
    expect(described).toHaveLength(routes.length - 2);
  });

  it('names every operation once, with a tag that is described and with path parameters that are declared', () => {
    const tags = new Map(document.tags.map(({ name, description }) => [name, description]));
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, operation } of operations()) {
      expect(operation.operationId, path).toMatch(/^[a-z][A-Za-z]+$/);
      expect(operation.description, path).toMatch(/./);
      expect(operation.summary, path).toMatch(/./);
      expect(operation.tags, path).toHaveLength(1);
      expect(tags.get(operation.tags?.[0] ?? ''), path).toMatch(/./);
      const declared = (operation.parameters ?? []).filter((each) => each.in === 'path').map(({ name }) => name);
      expect(declared, path).toEqual([...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
    }
  });

  it('has an answer and a refusal for every operation, each with a description', () => {
    for (const { path, operation } of operations()) {
      const statuses = Object.keys(operation.responses);
      expect(
        statuses.some((status) => /^2\d\d$/.test(status)),
        path,
      ).toBe(true);
      expect(
        statuses.some((status) => /^4\d\d$/.test(status)),
        path,
      ).toBe(true);
      for (const response of Object.values(operation.responses)) {
        expect((response as { description?: string }).description, path).toMatch(/./);
      }
    }
  });

  it('has contact, licence, servers and authentication', () => {
    const { info, servers, components } = document;
    expect(info).toMatchObject({
      license: { identifier: 'Apache-2.0' },
      contact: { name: expect.any(String) },
      description: expect.stringContaining('Idempotency-Key'),
    });
    expect(servers.length).toBeGreaterThan(0);
    for (const { url } of servers) expect(url).not.toMatch(/\/$|example\.com|localhost/);
    const used = new Set(operations().flatMap(({ operation }) => (operation.security ?? []).flatMap(Object.keys)));
    expect([...used]).toEqual(Object.keys(components.securitySchemes));
  });

  it('has no path with a trailing slash or a query, and no component that nothing uses', () => {
    for (const path of Object.keys(document.paths)) expect(path).not.toMatch(/.\/$|\?/);
    for (const name of Object.keys(document.components.schemas)) {
      expect(committed, name).toContain(`"#/components/schemas/${name}"`);
    }
  });

  it('lists the codes of errors', () => {
    expect(document.components.schemas.ErrorCode).toMatchObject({ enum: Object.keys(ERRORS) });
  });

  it('is OpenAPI 3.1, and every reference in it resolves', () => {
    expect(document.openapi).toBe('3.1.0');
    const references = [...committed.matchAll(/"\$ref": "([^"]+)"/g)].map(([, target]) => target ?? '');
    expect(references.length).toBeGreaterThan(20);
    for (const reference of references) {
      const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? [];
      expect(document.components.schemas, reference).toHaveProperty(name ?? reference);
    }
  });
});
