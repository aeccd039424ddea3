// Which component shows which page. The fleet and the node page come with the first load; others are loaded when they are
// opened.

import type { ComponentType } from 'preact';
import type { PageName } from './page-paths.ts';

export type Page = ComponentType<{ readonly params: Readonly<Record<string, string>> }>;

/** A page that is not in the table yet says so. */
export const PAGES: Readonly<Partial<Record<PageName, () => Promise<Page>>>> = {
  fleet: async () => (await import('./fleet/fleet-page.ts')).FleetPage,
  node: async () => (await import('./node/node-page.ts')).NodePage,
};
