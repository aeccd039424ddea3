// What the management listener serves to browsers: the document, its files, and their headers.

import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSite, type Site } from './site.ts';

let site: Site;
beforeAll(async () => {
  site = await openSite();
});
afterAll(() => site.close());

const get = (url: string, headers: Record<string, string> = {}) => site.app.inject({ url, headers });

describe('the document', () => {
  it.each(['/', '/nodes/node01', '/nodes/node01/console', '/racks/r1', '/t', '/sign-in', '/appliance'])(
    'is the same at %s, without authentication and without anything of the site',
    async (path) => {
      const answer = await get(path);
      expect(answer.statusCode).toBe(200);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.body).toBe((await get('/')).body);
      expect(answer.body).not.toContain('node01');
    },
  );

  it('allows only its own scripts and styles, and no frame around it', async () => {
    const { headers, body } = await get('/');
    const importMap = /<script type="importmap">(.*?)<\/script>/.exec(body)?.[1] ?? '';
    const hash = createHash('sha256').update(importMap).digest('base64');
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; " +
        `script-src 'self' 'sha256-${hash}'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'none'; ` +
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    );
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'permissions-policy': expect.stringContaining('microphone=()'),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    });
  });

  it('is not sent again when the browser has it', async () => {
    const { etag } = (await get('/')).headers;
    const again = await get('/nodes/x', { 'if-none-match': String(etag) });
    expect([again.statusCode, again.body]).toEqual([304, '']);
  });
});

describe('the files', () => {
  const named = async (): Promise<string[]> =>
    [...(await get('/')).body.matchAll(/(?:href|src)="(\/ui\/[^"]+)"/g)].map(([, path]) => path ?? '');

  it('that the document names exist, without types, for ever', async () => {
    const paths = await named();
    expect(paths.length).toBeGreaterThan(20);
    for (const path of paths) {
      const { statusCode, headers, body } = await get(path);
      expect([path, statusCode]).toEqual([path, 200]);
      expect(headers['cache-control']).toBe('public, max-age=31536000, immutable');
      expect(headers['content-type']).toMatch(/^text\/(javascript|css); charset=utf-8$/);
      expect(body).not.toMatch(/^import type /m);
    }
  });

  it('are compressed for browsers that accept it', async () => {
    const [path = ''] = await named();
    const plain = await get(path);
    const zipped = await get(path, { 'accept-encoding': 'gzip, br' });
    expect(zipped.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
    expect(zipped.rawPayload.length).toBeLessThan(plain.rawPayload.length);
  });

  it.each([
    '/ui/',
    '/ui/web/page/main.ts',
    '/ui/../package.json',
    '/ui/%2e%2e/package.json',
    '/ui/0000000000000000/web/page/main.ts',
    '/ui//etc/passwd',
  ])('do not include %s', async (path) => {
    const answer = await get(path);
    expect(answer.statusCode).toBe(404);
    expect(answer.json().code).toBe('not_found');
  });

  it('include no module that only the appliance needs', async () => {
    const [path = ''] = await named();
    const base = path.split('/').slice(0, 3).join('/');
    for (const name of ['api/auth.ts', 'store/store.ts', 'web/page-routes.ts', 'npm/fastify/fastify.js']) {
      expect((await get(`${base}/${name}`)).statusCode).toBe(404);
    }
  });
});
