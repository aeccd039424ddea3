// The subjects of the API, in the order that its documents list them.

export const TAGS = {
  nodes: 'Nodes: list, show, add, and move them through their life.',
  bmc: "Power, boot device, sensors, event log and console of a node's BMC, and the logins of BMCs.",
  trail: 'What happened to machines, why a node does not go on, and the audit log.',
  inventory: 'Declared inventory: what files say, applied as a whole.',
  catalogue: 'Sites, networks, SKUs, profiles and clusters that the inventory declares.',
  network: 'DHCP leases, listeners, and whether every advertised boot file is served.',
  renderings: 'What nodes and sites are installed from.',
  enrollment: 'Bootstrap bundles, certificates and the certificate authority.',
  tasks: 'Signed tasks for enrolled nodes.',
  tokens: 'API tokens.',
  health: 'Whether the appliance works.',
  meta: 'This document.',
} as const;

export type Tag = keyof typeof TAGS;
