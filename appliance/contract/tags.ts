// The subjects of the API, in the order that its documents list them.

export const TAGS = {
  nodes: 'Nodes: list, show, add, and move them through their lifecycle.',
  onboardings: 'Onboarding runs: one host from its BMC address to an enrolled node.',
  bmc: "Power, boot device, sensors, event log and console of a node's BMC, and BMC credentials.",
  trail: 'Events of machines, diagnosis of stuck nodes, and the audit log.',
  inventory: 'Declared inventory, applied all or nothing.',
  catalogue: 'Sites, networks, SKUs, profiles and clusters that the inventory declares.',
  network: 'DHCP leases, listeners, and whether every advertised boot file is served.',
  renderings: 'Rendered files of nodes and sites.',
  enrollment: 'Bootstrap bundles, certificates and the certificate authority.',
  access: 'SSH keys of people, key sets, and the default key sets of sites.',
  allocations: 'Allocations: which user has which node.',
  proposals: 'Proposals: changes that wait for the approval of people.',
  tasks: 'Signed tasks for enrolled nodes.',
  export: 'Receivers of events: webhooks, Loki, syslog; and the events that they refused.',
  tokens: 'API tokens, and signing in to the web page.',
  health: 'Health of the appliance.',
  meta: 'This document.',
} as const;

export type Tag = keyof typeof TAGS;
