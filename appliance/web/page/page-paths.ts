// The paths of the page. The server answers each with the same document; router.ts shows the component that pages.ts names.

export const PAGE_PATHS = {
  fleet: '/',
  node: '/nodes/:node',
  racks: '/racks',
  rack: '/racks/:rack',
  technician: '/t',
  technicianNode: '/t/:node',
  console: '/nodes/:node/console',
  explain: '/explain',
  inventory: '/inventory',
  networks: '/networks',
  events: '/events',
  images: '/images',
  clusters: '/clusters',
  tokens: '/tokens',
  appliance: '/appliance',
  signIn: '/sign-in',
} as const;

export type PageName = keyof typeof PAGE_PATHS;
