// Routes of the web page on the management listener: one document for all its paths, and its files from memory. They are public
// because they contain nothing of the site; everything else the page reads over the API.
//
// From memory, not with a file server: types are removed on the way, the whole page is a few hundred kilobytes, and a map with
// fixed names cannot be tricked by a path.

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { App } from '../api/base-app.ts';
import { sendNotFound } from '../api/errors.ts';
import { PAGE_PATHS, type PageName } from './page/page-paths.ts';
import { type PageFile, type PageFiles, readPageFiles } from './page-files.ts';

/** What the document of one path may do in addition. A link to such a path loads the document again. */
export const FURTHER_SCRIPT_SOURCES: Readonly<Partial<Record<PageName, string>>> = {};

const contentPolicy = (importMapHash: string, name: PageName): string =>
  [
    "default-src 'none'",
    ['script-src', "'self'", `'${importMapHash}'`, FURTHER_SCRIPT_SOURCES[name] ?? ''].join(' ').trim(),
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "font-src 'none'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join('; ');

const HEADERS = {
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy':
    'camera=(self), clipboard-write=(self), geolocation=(), microphone=(), payment=(), usb=(), display-capture=()',
} as const;

const FOR_EVER = 'public, max-age=31536000, immutable';

/** Read once, at the first request: an appliance without visitors does not hold the page. */
export function pageRoutes(app: App, read: () => PageFiles = readPageFiles): void {
  let page: PageFiles | null = null;
  const files = (): PageFiles => {
    page ??= read();
    return page;
  };
  const open = { config: { access: 'public' }, schema: { hide: true } } as const;

  for (const [name, url] of Object.entries(PAGE_PATHS) as [PageName, string][]) {
    app.get(url, open, async (request, reply) => {
      const { document, etag, importMapHash } = files();
      reply.headers({ ...HEADERS, 'content-security-policy': contentPolicy(importMapHash, name), etag });
      // The document names the files of this version, so it is asked for each time.
      reply.header('cache-control', 'no-cache');
      if (request.headers['if-none-match'] === etag) return reply.code(304).send();
      return send(document, request, reply);
    });
  }

  app.get('/ui/*', open, async (request, reply) => {
    const name = (request.params as { '*': string })['*'];
    const file = files().files.get(name);
    if (file === undefined) return sendNotFound(request, reply);
    reply.headers({ ...HEADERS, 'cache-control': FOR_EVER, etag: `"${name.slice(0, 16)}"` });
    return send(file, request, reply);
  });
}

function send(file: PageFile, { headers }: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.type(file.type).header('vary', 'accept-encoding');
  if (!/\bgzip\b/.test(String(headers['accept-encoding'] ?? ''))) return reply.send(file.body);
  return reply.header('content-encoding', 'gzip').send(file.zipped());
}
