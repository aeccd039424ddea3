import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { generateOpenApi } from '../../appliance/api/open-api.ts';
import { type Fixture, openApi } from './api-fixture.ts';

interface Operation {
  readonly summary?: string;
  readonly security?: readonly object[];
  readonly responses: Readonly<Record<string, object>>;
}
interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

const committed = readFileSync(new URL('../../appliance/api/openapi.json', import.meta.url), 'utf8');
let api: Fixture;
let document: Document;
beforeAll(async () => {
  api = await openApi();
  document = (await generateOpenApi()) as Document;
});
afterAll(() => api.close());

describe('the OpenAPI document', () => {
  it('in the repository is the one the routes make', () => {
    expect(`${JSON.stringify(document, null, 2)}\n`, 'out of date: write it anew with `npm run docs`').toBe(committed);
  });

  it('is what the API serves', async () => {
    const served = await api.call({ role: 'viewer', url: '/api/v1/openapi.json' });
    expect(served.json()).toEqual(JSON.parse(committed));
  });

  it('describes every route there is, each with a summary, who may call it, and how it fails', () => {
    const routes = api.app.routeTable.filter(({ method }) => method !== 'HEAD');
    for (const { method, url, access } of routes) {
      const operation = document.paths[url.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()];
      expect(operation, `${method} ${url}`).toMatchObject({
        summary: expect.any(String),
        security: access === 'public' ? [] : [{ token: [] }],
        responses: { default: expect.any(Object) },
      });
    }
    const described = Object.values(document.paths).flatMap(Object.keys);
    expect(described).toHaveLength(routes.length);
  });

  it('is OpenAPI 3.1 and every reference in it leads somewhere', () => {
    expect(document.openapi).toBe('3.1.0');
    const references = [...committed.matchAll(/"\$ref": "([^"]+)"/g)].map(([, target]) => target ?? '');
    expect(references.length).toBeGreaterThan(20);
    for (const reference of references) {
      const [, name] = /^#\/components\/schemas\/(\w+)$/.exec(reference) ?? [];
      expect(document.components.schemas, reference).toHaveProperty(name ?? reference);
    }
  });
});
