// Renders 10,000 nodes one after the other, half of them NixOS members of clusters and half Debian images, and then their
// site. Memory must not grow: each rendering is made, checked and released.

import { randomUUID } from 'node:crypto';
import { BUILT_IN_TEMPLATES, readTemplateFiles } from '../../appliance/assets/template-files.ts';
import { parseObjectName } from '../../appliance/domain/names.ts';
import { mustParse } from '../../appliance/domain/parsed.ts';
import { checkInventory } from '../../appliance/inventory/check.ts';
import { declaredInventory } from '../../appliance/inventory/declared-inventory.ts';
import { previewExtras, renderNodeFiles } from '../../appliance/render/node-files.ts';
import { indexInventory } from '../../appliance/render/plan-index.ts';
import { planNode } from '../../appliance/render/plan-node.ts';
import { renderSite } from '../../appliance/render/site/render-site.ts';
import { compileTemplates } from '../../appliance/render/templates.ts';
import { printTable, say } from './figures.ts';
import { ownCpuSeconds } from './process-cost.ts';
import { largeRack } from './rack.ts';

const NODES = 10_000;
const CLUSTER = 50;
const LOOKS = [1000, 5000, NODES];
const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK/LUsQB7CmUIUGtWe/8QHJruwiyR/7Z7aUAFCdKZS5c ada@bench.example';

/** Alternates between a NixOS node in a cluster and a Debian server. */
function mixedRack(nodes: number) {
  const rack = largeRack(nodes);
  const member = (at: number): boolean => at % 2 === 0;
  const clusterOf = (at: number): string => `cluster${Math.floor(at / CLUSTER)}`;
  return {
    ...rack,
    sites: [{ name: 'bench', domain: 'bench.example', accounts: [{ name: 'ada', admin: true, ssh_keys: [KEY] }] }],
    profiles: [
      { name: 'worker', kind: 'nixos', role: 'all-in-one' },
      {
        name: 'debian',
        kind: 'cloud-image',
        packages: ['chrony', 'jq'],
        image: { source: 'https://images.bench.example/debian.raw', sha256: 'ab'.repeat(32) },
      },
    ],
    clusters: Array.from({ length: Math.ceil(nodes / CLUSTER) }, (_, at) => ({
      name: clusterOf(at * CLUSTER),
      network: 'prod',
      bootstrap: [0, 2, 4].map((more) => `node${at * CLUSTER + more}`),
    })),
    nodes: rack.nodes.map((node, at) => ({
      ...node,
      profile: member(at) ? 'worker' : 'debian',
      ...(member(at) && { cluster: clusterOf(at) }),
    })),
  };
}

const megabytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

export async function benchRender(): Promise<void> {
  const { problems, sources } = checkInventory([{ file: 'bench', name: 'bench', value: mixedRack(NODES) }]);
  if (problems.length > 0) throw new Error(problems.slice(0, 5).join('\n'));
  const index = indexInventory(declaredInventory(sources, 0, randomUUID));
  const templates = compileTemplates(readTemplateFiles(BUILT_IN_TEMPLATES));

  const rows: string[][] = [];
  const [began, cpuBefore] = [performance.now(), ownCpuSeconds()];
  const took = (): number => (performance.now() - began) / 1000;
  let [rendered, files, bytes] = [0, 0, 0];
  for (const machine of index.machines) {
    const planned = planNode(index, machine);
    if (!planned.ok) throw new Error(`${machine.spec.hostname}: ${planned.reasons.join('; ')}`);
    for (const { text } of renderNodeFiles(planned.plan, previewExtras(planned.plan), templates)) {
      files += 1;
      bytes += text.length;
    }
    rendered += 1;
    if (!LOOKS.includes(rendered)) continue;
    const memory = `${megabytes(process.memoryUsage.rss())} MB`;
    rows.push([String(rendered), String(files), `${megabytes(bytes)} MB`, `${took().toFixed(1)} s`, memory]);
  }
  const seconds = took();
  const cpu = Math.round(((ownCpuSeconds() - cpuBefore) / NODES) * 1e6);
  const rss = megabytes(process.memoryUsage.rss());
  const site = renderSite(index, mustParse(parseObjectName('bench')), templates);
  printTable(['nodes', 'files', 'text', 'after', 'memory'], rows);
  say(`the site's own ${site.length} files: ${(took() - seconds).toFixed(2)} s`);
  const each = Math.round((seconds / NODES) * 1e6);
  const figures = `seconds=${seconds.toFixed(1)} per_node_us=${each} cpu_us_per_node=${cpu} rss_mb=${rss}`;
  say(`render: nodes=${NODES} ${figures}`);
}
