// Which component shows which page. The fleet and the node page come with the first load; others are loaded when they are
// opened.

import type { ComponentType } from 'preact';
import type { PageName } from './page-paths.ts';

export type Page = ComponentType<{ readonly params: Readonly<Record<string, string>> }>;

/** A page that is not in the table yet says so. */
export const PAGES: Readonly<Partial<Record<PageName, () => Promise<Page>>>> = {
  fleet: async () => (await import('./fleet/fleet-page.ts')).FleetPage,
  node: async () => (await import('./node/node-page.ts')).NodePage,
  racks: async () => (await import('./racks/racks-page.ts')).RacksPage,
  rack: async () => (await import('./racks/racks-page.ts')).RackPage,
  technician: async () => (await import('./technician/technician-page.ts')).TechnicianPage,
  technicianNode: async () => (await import('./technician/technician-page.ts')).TechnicianNodePage,
  console: async () => (await import('./console/console-page.ts')).ConsolePage,
  inventory: async () => (await import('./inventory/inventory-page.ts')).InventoryPage,
  images: async () => (await import('./images/images-page.ts')).ImagesPage,
  networks: async () => (await import('./networks/networks-page.ts')).NetworksPage,
  events: async () => (await import('./events/events-page.ts')).EventsPage,
  appliance: async () => (await import('./appliance/appliance-page.ts')).AppliancePage,
  clusters: async () => (await import('./clusters/clusters-page.ts')).ClustersPage,
  tokens: async () => (await import('./tokens/tokens-page.ts')).TokensPage,
  explain: async () => (await import('./explain/explain-page.ts')).ExplainPage,
};
