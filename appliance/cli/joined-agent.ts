// The node agent as it is shipped: its parts in name order, joined to one file, so that a node needs a single script.

import { readdirSync, readFileSync } from 'node:fs';

export const AGENT_FILE = 'boot-assets/node-agent/node-agent';
const PARTS = 'boot-assets/node-agent/parts/';

export function joinedAgent(root: URL): string {
  const folder = new URL(PARTS, root);
  const names = readdirSync(folder)
    .filter((name) => name.endsWith('.sh'))
    .sort();
  return names.map((name) => readFileSync(new URL(name, folder), 'utf8')).join('\n');
}
