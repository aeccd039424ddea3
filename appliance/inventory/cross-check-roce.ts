// Checks assigned RoCE links: each is unique, its site exists, and it does not conflict with the node's own links.

import { roceName } from '../domain/catalogue.ts';
import { type Drafts, type Findings, forEachLink, type NodeDraft, placeText } from './drafts.ts';
import type { References } from './references.ts';

export function checkRoce(drafts: Drafts, references: References, findings: Findings): void {
  if (drafts.roce.length === 0) return;
  const nodes = new Map(drafts.nodes.map((entry) => [keyOf(entry.draft), entry]));
  const cards = cardsByMac(drafts);
  const macs = new Map<string, string>();
  for (const { at, draft } of drafts.roce) {
    references.follow('sites', draft.site, at, 'site');
    const node = draft.name === undefined ? undefined : nodes.get(draft.name);
    const own = new Map<string | undefined, string>();
    if (node) forEachLink(node.draft, (link, field) => own.set(link.name, field));
    const names = new Set<string>();
    draft.links?.forEach((link, index) => {
      const field = `links[${index}]`;
      const taken = link?.name === undefined ? undefined : own.get(link.name);
      if (taken !== undefined && node) {
        const message = `${link?.name} is already used by ${placeText(node.at, taken)}`;
        findings.report(at, `${field}.name`, message, node.at);
      } else if (link?.name !== undefined && names.has(link.name)) {
        findings.report(at, `${field}.name`, `${link.name} is declared twice`);
      }
      if (link?.name !== undefined) names.add(link.name);
      if (!link?.mac) return;
      const holder = macs.get(link.mac) ?? cards.get(link.mac);
      if (holder !== undefined) findings.report(at, `${field}.mac`, `${link.mac} is taken by ${holder}`);
      macs.set(link.mac, placeText(at, field));
    });
  }
}

const keyOf = ({ site, hostname }: NodeDraft): string | undefined =>
  site && hostname ? roceName(site, hostname) : undefined;

function cardsByMac({ nodes }: Drafts): Map<string, string> {
  const cards = new Map<string, string>();
  for (const { at, draft } of nodes) {
    draft.interfaces?.forEach((nic, index) => {
      if (nic?.mac) cards.set(nic.mac, placeText(at, `interfaces[${index}]`));
    });
  }
  return cards;
}
