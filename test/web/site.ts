// An appliance on loopback with the web page, for tests in a browser: the real API, store and stream, without boot servers.

import { readPageFiles } from '../../appliance/web/page-files.ts';
import { pageRoutes } from '../../appliance/web/page-routes.ts';
import { type Fixture, type FixtureOptions, openApi } from '../api/api-fixture.ts';

export interface Site extends Fixture {
  readonly url: string;
  /** A link that signs a browser in, with that role. */
  signInLink(role?: 'viewer' | 'tech' | 'operator' | 'admin', to?: string): Promise<string>;
}

/** Removing types takes a second on a busy machine, so test files of one process share the files. */
let files: ReturnType<typeof readPageFiles> | null = null;

export async function openSite(options: FixtureOptions = {}): Promise<Site> {
  files ??= readPageFiles();
  const page = files;
  const api = await openApi({
    ...options,
    deps: (real) => ({ furtherRoutes: (app) => pageRoutes(app, () => page), ...options.deps?.(real) }),
  });
  const url = await api.app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ...api,
    url,
    signInLink: async (role = 'admin', to = '/') => {
      const answer = await api.call({ role, method: 'POST', url: '/api/v1/session/codes', payload: {} });
      return `${url}/sign-in?to=${encodeURIComponent(to)}#code=${answer.json().code}`;
    },
    close: async () => {
      // Open streams would keep the server.
      api.app.server.closeAllConnections();
      await api.close();
    },
  };
}
